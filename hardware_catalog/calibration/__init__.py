"""Fits of catalog rows to measurements, and errors of predictions against them.

`calibrate.fit` fits efficiencies and bands to the measurements of a database;
`store.replace` and `catalog_csv.replace_rows` write the rows to a database or to CSV tables. `validation.validate` compares predictions
with measurements, `validation.score` summarizes the errors. No module here prints or imports torch.
"""
