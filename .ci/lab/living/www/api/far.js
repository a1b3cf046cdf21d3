export const far = "far";
