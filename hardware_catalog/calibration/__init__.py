"""Calibration: measurements become catalog rows.

`calibrate.fit` fits efficiencies and bands to a database's measurements, `shipped.fit` those that charz ships; `store.replace` and
`catalog_csv.replace_rows` write either to their tables. `validation.validate` compares predictions with measurements,
`validation.score` summarizes the errors. No module here prints or imports torch.
"""
