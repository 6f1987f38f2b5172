export const meanText = (mean: number) => mean.toFixed(mean < 10 ? 2 : mean < 100 ? 1 : 0);
