/** A style sheet that a webview's entry point imports: the bundler writes it beside the script. */
declare module '*.css';
