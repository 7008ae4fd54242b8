import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import prettier from 'eslint-config-prettier/flat';
import tseslint from 'typescript-eslint';

/** The floors of `src`, lowest first: a room imports from lower floors only, and `protocol` from `core`. */
const FLOORS = /** @type {const} */ ([
  ['core'],
  ['protocol'],
  ['system'],
  ['store', 'git', 'signing'],
  ['validation', 'snapshots'],
  ['service'],
  ['agents', 'workers'],
  ['cli', 'extension'],
]);

/** What a room leaves to one between: commands ask the use cases. @type {Record<string, readonly string[]>} */
const LEFT_OUT = { cli: ['store'] };

/** @typedef {typeof FLOORS[number][number]} Room */

/** @type {readonly Room[]} */
const ROOMS = FLOORS.flat();

/** Packages that one room alone may import. @type {Record<string, Room>} */
const OWNED = { vscode: 'extension', chokidar: 'store', '@bsv/sdk': 'signing', '@bitauth/libauth': 'signing' };

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

/** What changes files. Whoever else does so is not seen by the tests that kill a process at each of its writes. */
const FILE_WRITES = ['appendFile', 'chmod', 'copyFile', 'cp', 'ftruncate', 'link', 'mkdir', 'mkdtemp', 'rename', 'rm']
  .concat(['rmdir', 'symlink', 'truncate', 'unlink', 'utimes', 'write', 'writeFile', 'writev'])
  .flatMap((name) => [name, `${name}Sync`])
  .concat(['createWriteStream', 'promises', 'default']);

const WRITES_THROUGH_PORT = [
  { regex: '^(node:)?fs$', importNames: FILE_WRITES, message: 'Files are changed through the FileSystem port.' },
  { regex: '^(node:)?fs/promises$', message: 'Files are changed through the FileSystem port.' },
];

/** @typedef {{ regex: string, message: string, importNames?: string[] }} Ban */

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
 * The rooms on the floors below a room's.
 * @param {string} room
 * @returns {string[]}
 */
function below(room) {
  /** @type {readonly (readonly string[])[]} */
  const floors = FLOORS;
  return floors
    .slice(
      0,
      floors.findIndex((rooms) => rooms.includes(room)),
    )
    .flat();
}

/**
 * @param {string} room
 * @returns {Ban[]}
 */
function bansOf(room) {
  const leftOut = LEFT_OUT[room] ?? [];
  const allowed = room === 'webview' ? PURE_ROOMS : [room, ...below(room).filter((each) => !leftOut.includes(each))];
  /** @type {readonly string[]} */
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
  if (room !== 'webview' && room !== 'system') bans.push(...WRITES_THROUGH_PORT);
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
      // A sixth of the whole lint's time. All enums are VS Code's; tests and scripts are told more by running.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      eqeqeq: 'error',
      'no-undef': 'off', // the compiler knows better
    },
  },
  { files: ['test/**/*.ts', 'scripts/**/*.mts'], rules: restrict([]) },
  {
    files: ['src/**/*.ts', 'webview/**/*.ts'],
    rules: { 'no-console': 'error', '@typescript-eslint/no-unsafe-class-instance-assignment': 'error' },
  },
  { files: ['src/extension/**/*.ts'], rules: { '@typescript-eslint/no-unsafe-enum-assignment': 'error' } },
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
