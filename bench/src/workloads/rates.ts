/** The steady rates, in jobs per second, at which jobs are produced and consumed one by one. */
export const steadyRates = [50, 500, 2_000] as const;
