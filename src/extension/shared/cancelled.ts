/** A person changed their mind; nothing is to be said. */
export class Cancelled extends Error {}
