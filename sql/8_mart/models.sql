-- Ingested models. Key: model.
-- Grain: model
CREATE VIEW models AS
SELECT
    l.model,
    m.architecture_family,
    l.source,
    l.input_signature,
    m.resolution,
    m.is_training,
    m.default_batch,
    m.default_sequence,
    l.parameter_count,
    l.trained_parameter_count,
    l.operator_count,
    l.macs,
    l.unsized_count,
    m.ingested_at
FROM model_list AS l
INNER JOIN model AS m ON m.model = l.model
