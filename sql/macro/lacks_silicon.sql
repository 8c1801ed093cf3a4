-- Whether a part of this status has no silicon that anybody could measure: simulated, or announced and not there yet.
CREATE MACRO lacks_silicon(status) AS status IN ('announced', 'simulated');
