"""What turns measurements into catalog rows.

`calibrate.fit` fits efficiencies and bands to the measurements of a database, `shipped.fit` those that charz ships;
`store.replace` and `catalog_csv.replace_rows` put either where they belong. `validation.validate` holds predictions
against measurements, `validation.score` sums up how far they are. Nothing here prints, and nothing imports torch.
"""
