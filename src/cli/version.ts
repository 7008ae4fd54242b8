declare const ATLAS_VERSION: string;

/** The version of this program, which the build puts in. */
export const VERSION = typeof ATLAS_VERSION === 'string' ? ATLAS_VERSION : '0.0.0';
