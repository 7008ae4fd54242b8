/* The parser of settings files with comments; a file of its own beside the command, since only installers need it. */
export { type Node, type ParseError, parse, parseTree, printParseErrorCode } from 'jsonc-parser';
