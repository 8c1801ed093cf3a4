-- Share of experts that n independent tokens meet, each of which chooses a fraction of them: 1 - (1 - f)^n of experts chosen equally often
-- (`expert_skew` 0). Shares of tokens that are distributed log-normally are taken at three points, whose weights are those of a Gauss-Hermite
-- quadrature: 1/6, 2/3 and 1/6 at logarithms -sqrt(3), 0 and sqrt(3) times the skew.
CREATE MACRO met_share(draw_fraction, draws, skew) AS
    CASE
        WHEN skew = 0e0 THEN 1e0 - POWER(1e0 - draw_fraction, draws)
        ELSE 1e0
            - POWER(1e0 - LEAST(1e0, draw_fraction * 6e0 / NULLIF(1e0 + 4e0 * EXP(-SQRT(3e0) * skew) + EXP(-2e0 * SQRT(3e0) * skew), 0e0)), draws) / 6e0
            - POWER(1e0 - draw_fraction * 6e0 / NULLIF(EXP(SQRT(3e0) * skew) + 4e0 + EXP(-SQRT(3e0) * skew), 0e0), draws) * 2e0 / 3e0
            - POWER(1e0 - draw_fraction * 6e0 / NULLIF(EXP(2e0 * SQRT(3e0) * skew) + 4e0 * EXP(SQRT(3e0) * skew) + 1e0, 0e0), draws) / 6e0
    END;
