-- Profile of well-known architectures: the numbers of convolutions, attentions and so on, as counted by hand from the published tables
-- (He 2015, Sandler 2018, Howard 2019, Tan 2019, Simonyan 2014, Huang 2017, Carion 2020, Devlin 2018, Dosovitskiy 2020, Liu 2021), and
-- the numbers in the ingested graph. DETR has 53 convolutions of ResNet-50 and a projection; 6 encoder layers of 6 linears and 2 norms,
-- 6 decoder layers of 10 and 3, a final norm, and heads of 1 and 3 linears.
-- Grain: model, operator_class
CREATE VIEW model_profile AS
WITH profile AS (
    SELECT
        model,
        operator_class,
        expected
    FROM (
        VALUES
        ('resnet18', 'conv', 20), ('resnet18', 'batch_norm', 20), ('resnet18', 'activation', 17),
        ('resnet18', 'linear', 1), ('resnet18', 'elementwise', 8), ('resnet18', 'pooling', 2),
        ('resnet50', 'conv', 53), ('resnet50', 'batch_norm', 53), ('resnet50', 'activation', 49),
        ('resnet50', 'linear', 1), ('resnet50', 'elementwise', 16), ('resnet50', 'pooling', 2),
        ('vgg16', 'conv', 13), ('vgg16', 'linear', 3), ('vgg16', 'activation', 15), ('vgg16', 'pooling', 6),
        ('mobilenet_v2', 'conv', 35), ('mobilenet_v2', 'depthwise_conv', 17), ('mobilenet_v2', 'elementwise', 10),
        ('mobilenet_v2', 'linear', 1), ('mobilenet_v3_large', 'depthwise_conv', 15),
        ('mobilenet_v3_small', 'depthwise_conv', 11), ('efficientnet_b0', 'depthwise_conv', 16),
        ('efficientnet_b0', 'conv', 65), ('efficientnet_b0', 'linear', 1), ('efficientnet_b2', 'depthwise_conv', 23),
        ('vit_b_16', 'attention', 12), ('vit_b_16', 'linear', 49), ('vit_b_16', 'norm', 25),
        ('swin_t', 'softmax', 12), ('swin_t', 'matmul', 24), ('densenet121', 'conv', 120),
        ('hf:bert-base-uncased', 'attention', 12), ('hf:bert-base-uncased', 'linear', 73),
        ('hf:bert-base-uncased', 'norm', 25), ('hf:detr-resnet-50', 'attention', 18), ('hf:detr-resnet-50', 'conv', 54),
        ('hf:detr-resnet-50', 'linear', 100), ('hf:detr-resnet-50', 'norm', 31), ('hf:detr-resnet-50', 'activation', 64),
        ('hf:detr-resnet-50', 'pooling', 1)
    ) AS known (model, operator_class, expected)
)

SELECT
    m.model,
    p.operator_class,
    -- Number in the published tables.
    CAST(MAX(p.expected) AS BIGINT) AS expected,
    -- Number in the ingested graph.
    COUNT(o.operator_id) AS found
FROM model AS m
INNER JOIN profile AS p ON p.model = m.model
LEFT JOIN operator AS o ON o.model = m.model AND o.operator_class = p.operator_class
WHERE NOT m.is_training
GROUP BY m.model, p.operator_class
