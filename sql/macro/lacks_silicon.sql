-- True for the status of a part without measurable silicon: simulated, or announced and not yet available.
CREATE MACRO lacks_silicon(status) AS status IN ('announced', 'simulated');
