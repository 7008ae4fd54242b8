import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import prettier from 'eslint-config-prettier/flat';
import tseslint from 'typescript-eslint';

/** Which rooms of `src` each room may import from: only lower floors, see the floor table in the architecture notes. */
const MAY_IMPORT = /** @type {const} */ ({
  core: [],
  protocol: ['core'],
  storage: ['core', 'protocol'],
  git: ['core', 'protocol', 'storage'],
  signing: ['core', 'protocol'],
  validation: ['core', 'protocol', 'storage', 'git', 'signing'],
  service: ['core', 'protocol', 'storage', 'git', 'signing', 'validation'],
  agents: ['core', 'protocol', 'storage', 'git', 'signing', 'validation', 'service'],
  workers: ['core', 'protocol', 'storage', 'git', 'signing', 'validation', 'service'],
  cli: ['core', 'protocol', 'storage', 'git', 'signing', 'validation', 'service', 'agents', 'workers'],
  mcp: ['core', 'protocol', 'storage', 'git', 'signing', 'validation', 'service', 'agents', 'workers'],
  extension: ['core', 'protocol', 'storage', 'git', 'signing', 'validation', 'service', 'agents', 'workers'],
});

const ROOMS = /** @type {(keyof typeof MAY_IMPORT)[]} */ (Object.keys(MAY_IMPORT));

/** Packages that one room alone may import. @type {Record<string, keyof typeof MAY_IMPORT>} */
const OWNED = { vscode: 'extension', chokidar: 'storage', '@bsv/sdk': 'signing', '@bitauth/libauth': 'signing' };

const PURE_ROOMS = ['core', 'protocol'];

const NO_DEFAULT_EXPORT = { selector: 'ExportDefaultDeclaration', message: 'Name what is exported.' };

const NO_HIDDEN_INPUT = [
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'The time comes in through Clock.' },
  { selector: "CallExpression[callee.name='Date']", message: 'The time comes in through Clock.' },
  {
    selector: "MemberExpression[object.name='Date'][property.name='now']",
    message: 'The time comes in through Clock.',
  },
  { selector: "MemberExpression[object.name='Math'][property.name='random']", message: 'Ids come in through Ids.' },
];

const IMPURE_GLOBALS = ['crypto', 'performance', 'process', 'Buffer', 'fetch', 'console', 'window', 'document']
  .concat(['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'require', '__dirname', '__filename'])
  .map((name) => ({ name, message: 'The core is pure: what it needs comes in as an argument or a port.' }));

/** @typedef {{ regex: string, message: string }} Ban */

/**
 * Bans for both `import … from` and `import(…)`, which `no-restricted-imports` alone does not see.
 * @param {Ban[]} bans
 * @param {{ selector: string, message: string }[]} [syntax]
 * @returns {import('eslint').Linter.RulesRecord}
 */
function restrict(bans, syntax = []) {
  const dynamic = bans.map(({ regex, message }) => ({
    selector: `ImportExpression[source.value=/${regex.replaceAll('/', '\\u002F')}/]`,
    message,
  }));
  return {
    'no-restricted-imports': ['error', { patterns: bans }],
    'no-restricted-syntax': ['error', NO_DEFAULT_EXPORT, ...dynamic, ...syntax],
  };
}

/**
 * @param {string} room
 * @returns {Ban[]}
 */
function bansOf(room) {
  const allowed = room === 'webview' ? PURE_ROOMS : [room, ...MAY_IMPORT[/** @type {'core'} */ (room)]];
  /** @type {string[]} */
  const rooms = ROOMS;
  const others = rooms
    .filter((other) => !allowed.includes(other))
    .concat(room === 'webview' ? [] : ['webview', 'test']);
  /** @type {Ban[]} */
  const bans = [
    {
      regex: `^(\\.\\./)+(src/)?(${others.join('|')})/`,
      message: `${room} may import only from: ${allowed.filter((r) => r !== room).join(', ') || 'nothing else'}.`,
    },
  ];
  for (const [name, owner] of Object.entries(OWNED)) {
    if (owner !== room) bans.push({ regex: `^${name}(/|$)`, message: `Only ${owner} imports ${name}.` });
  }
  if (room === 'webview' || PURE_ROOMS.includes(room)) {
    bans.push({
      regex: '^(node:|(fs|path|os|crypto|child_process|util|events)(/|$))',
      message: `${room} has no Node.`,
    });
  }
  return bans;
}

export default defineConfig(
  globalIgnores(['dist/', 'out/', '.vscode-test/', 'coverage/']),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  prettier,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      eqeqeq: 'error',
      'no-undef': 'off', // the compiler knows better
    },
  },
  { files: ['test/**/*.ts', 'scripts/**/*.mts'], rules: restrict([]) },
  { files: ['src/**/*.ts', 'webview/**/*.ts'], rules: { 'no-console': 'error' } },
  { files: ['src/cli/**/*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['src/**/*.ts', 'webview/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
    },
  },
  ...ROOMS.map((room) => ({
    files: [`src/${room}/**/*.ts`],
    rules: restrict(bansOf(room), PURE_ROOMS.includes(room) ? NO_HIDDEN_INPUT : []),
  })),
  { files: ['webview/**/*.ts'], rules: restrict(bansOf('webview')) },
  {
    files: PURE_ROOMS.map((room) => `src/${room}/**/*.ts`),
    rules: { 'no-restricted-globals': ['error', ...IMPURE_GLOBALS] },
  },
);
