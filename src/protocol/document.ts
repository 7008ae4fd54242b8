import * as z from 'zod/mini';
import { isWebLink } from './webLink';

/** The elements that a rendered Markdown document can consist of: nothing that loads, runs or submits anything. */
export const DOCUMENT_TAGS = [
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'p',
  'blockquote',
  'ul',
  'ol',
  'li',
  'pre',
  'code',
  'em',
  'strong',
  'del',
  'br',
  'hr',
  'table',
  'thead',
  'tbody',
  'tr',
  'th',
  'td',
  'a',
  'time',
] as const;

/** An element of a rendered document; a text is data and is never parsed again. */
export interface DocumentElement {
  readonly tag: (typeof DOCUMENT_TAGS)[number];
  readonly children: readonly DocumentNode[];
  /** Of an `a`: http or https. */
  readonly href?: string | undefined;
  /** Of a `time`: RFC 3339. */
  readonly datetime?: string | undefined;
  /** Of an `ol`. */
  readonly start?: number | undefined;
}

/** A text or an element of a rendered document. */
export type DocumentNode = string | DocumentElement;

/** A link that may be opened. */
export const webLinkSchema = z.string().check(z.maxLength(2048), z.refine(isWebLink, 'not a web link'));

const elementSchema: z.ZodMiniType<DocumentElement> = z.object({
  tag: z.enum(DOCUMENT_TAGS),
  children: z.array(z.lazy(() => documentNodeSchema)),
  href: z.optional(webLinkSchema),
  datetime: z.optional(z.string()),
  start: z.optional(z.int()),
});

/** A text or an element of a rendered document. */
export const documentNodeSchema: z.ZodMiniType<DocumentNode> = z.union([z.string(), elementSchema]);
