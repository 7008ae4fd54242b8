import * as z from 'zod/mini';

/** An answer of the host to a request of a webview. */
export const responseSchema = z.discriminatedUnion('type', [
  /** The host has the request and works on it; from here on it may take as long as a person takes. */
  z.object({ type: z.literal('accepted'), id: z.int() }),
  z.object({ type: z.literal('done'), id: z.int() }),
  z.object({ type: z.literal('refused'), id: z.int(), message: z.string(), hint: z.optional(z.string()) }),
]);

/** An answer of the host to a request of a webview. */
export type ResponseMessage = z.infer<typeof responseSchema>;
