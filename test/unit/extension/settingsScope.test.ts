import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT } from '../../support/project';

interface Manifest {
  readonly contributes: {
    readonly configuration: { readonly properties: Readonly<Record<string, { scope?: string }>> };
  };
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
}

describe('settings that name a command or a path', () => {
  const manifest = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')) as Manifest;

  it.each(['atlas.home', 'atlas.agent.command', 'atlas.resumeCommand'])("%s can't be set by a folder", (name) => {
    // https://code.visualstudio.com/api/references/contribution-points#contributes.configuration
    expect(['machine', 'application']).toContain(manifest.contributes.configuration.properties[name]?.scope);
    expect(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations).toContain(name);
  });
});
