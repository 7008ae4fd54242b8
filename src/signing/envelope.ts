import { createHash } from 'node:crypto';
import { type Result, fail, messageOf, ok } from '../core/shared/errors';
import {
  STATEMENT_MEDIA_TYPE,
  type Statement,
  envelopeSchema,
  preAuthEncoding,
  statementSchema,
} from '../core/receipt/receipt';
import type { ReceiptSigner } from '../core/shared/ports';

/** A DSSE envelope, decoded. */
export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly keyId: string | undefined;
  readonly signature: Uint8Array;
}

/** SHA-256 in hex. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Signs a statement: the bytes of the envelope's file, which its digest is over. */
export function sealStatement(statement: Statement, signer: ReceiptSigner): string {
  const payload = Buffer.from(JSON.stringify(statement), 'utf8');
  const signature = signer.sign(preAuthEncoding(STATEMENT_MEDIA_TYPE, payload), 'envelope');
  const envelope = {
    payloadType: STATEMENT_MEDIA_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: signer.keyId, sig: Buffer.from(signature).toString('base64') }],
  };
  return `${JSON.stringify(envelope)}\n`;
}

/** Base64 in its one canonical form: what decodes and encodes to the same text. */
function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

function malformed(why: string): ReturnType<typeof fail> {
  return fail('verification_failed', `The statement's envelope ${why}.`);
}

/** Reads the bytes of an envelope's file. Says why where they are none. */
export function parseEnvelope(bytes: Uint8Array): Result<Envelope> {
  let data: unknown;
  try {
    data = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return malformed(`is truncated or not JSON (${messageOf(error)})`);
  }
  const parsed = envelopeSchema.safeParse(data);
  if (!parsed.success) return malformed('lacks a payload, its type or a signature');
  const { payloadType, payload, signatures } = parsed.data;
  if (payloadType !== STATEMENT_MEDIA_TYPE) return malformed(`has a payload of type ${JSON.stringify(payloadType)}`);
  const [first, ...more] = signatures;
  if (first === undefined || more.length > 0) return malformed(`has ${signatures.length} signatures, not one`);
  const decoded = decodeBase64(payload);
  const signature = decodeBase64(first.sig);
  if (decoded === undefined || signature === undefined) return malformed('is not in base64');
  return ok({ payloadType, payload: decoded, keyId: first.keyid, signature });
}

/** Reads the statement of an envelope. */
export function parseStatement(payload: Uint8Array): Result<Statement> {
  try {
    const parsed = statementSchema.safeParse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload)));
    if (parsed.success) return ok(parsed.data);
    const issue = parsed.error.issues[0];
    return fail('verification_failed', `The statement is malformed at "${issue?.path.join('.') ?? ''}".`);
  } catch (error) {
    return fail('verification_failed', `The statement is not JSON: ${messageOf(error)}`);
  }
}
