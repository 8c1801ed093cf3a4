"""Fits of catalog rows to measurements, and errors of predictions against them.

`calibrate.fit` fits efficiencies and bands to the measurements of a database;
`store.replace` and `catalog_csv.replace_rows` store the rows in a database and in CSV tables. `validation.validate` holds predictions
against measurements, `validation.score` sums up how far they are. Nothing here prints, and nothing imports torch.
"""
