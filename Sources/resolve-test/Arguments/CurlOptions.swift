// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNS

/// The options of `fetch` about the request and its connection, with curl's names and meanings.
struct CurlOptions: ParsableArguments, Sendable {
    @Option(curl: "--url", "URL", "The URL, as an option.") var url: String?
    @Flag("-L --location", "Follow redirects.") var followsRedirects = false
    @Flag("--location-trusted", "Follow redirects, and send fields with secrets to every origin of them.")
    var trustsRedirects = false
    @Option(
        curl: "--max-redirs --max-redirects",
        "NUMBER",
        "With -L, how many redirects are followed, 0 to 100, or -1 for 100."
    )
    var maximumRedirects: Int?
    @Flag("-I --head", "Send HEAD, and print the header fields.") var isHead = false
    @Flag("-G --get", "Append the data of -d to the URL.") var putsDataInQuery = false
    @Option(
        curl: "-F --form --form-string",
        "NAME=CONTENT",
        "Part of a multipart form; with -F, NAME=@FILE sends a file. Repeatable."
    )
    var form: [String] = []
    @Option(curl: "-T --upload-file", "FILE", "Send this file with PUT; - is standard input.", completion: .file())
    var uploadFile: String?
    @Option(curl: "-u --user", "USER:PASSWORD", "Login of the origin.") var user: String?
    @Flag("--digest", "Use Digest for -u.") var usesDigest = false
    @Flag("--basic", "Use Basic for -u, the default.") var usesBasic = false
    @Option(curl: "--oauth2-bearer", "TOKEN", "Bearer token of the origin.") var bearerToken: String?
    @Option(curl: "-A --user-agent", "NAME", "The field User-Agent; none if left out.") var userAgent: String?
    @Option(curl: "-e --referer", "URL", "The field Referer.") var referer: String?
    @Option(curl: "-b --cookie", "COOKIES", "Cookies to send: 'NAME=VALUE; NAME=VALUE'. Repeatable.")
    var cookies: [String] = []
    @Option(curl: "-r --range", "RANGE", "The part of the resource: 0-99, 500- or -500.") var range: String?
    @Flag("--compressed", "Ask for content codings, and decode the body.") var decodesBody = false
    @Flag("--raw", "Keep content codings, and the chunks of HTTP/1.1.") var keepsCodings = false
    @Option(curl: "--limit-rate", "SPEED", "Bytes per second of the bodies; with k, M or G behind.")
    var rateLimit: String?
    @Option(curl: "--max-filesize", "BYTES", "The longest response body; with k, M or G behind.")
    var maximumBody: String?
    @Option(curl: "--retry", "NUMBER", "Repeat the request after a time-out, 408, 429 or 5xx, 0 to 100 times.")
    var retries: Int?
    @Option(curl: "--retry-delay", "SECONDS", "The time between them; 1 s, doubled each time, if left out.")
    var retryDelay: Double?
    @Flag("--retry-connrefused", "Repeat a refused connection, too.") var retriesConnecting = false
    @Flag("--retry-all-errors", "Repeat after every error and status of 400 or more.") var retriesEverything = false

    @OptionGroup var connection: CurlConnectionOptions
}

/// The options of `fetch` about the connection, with curl's names and meanings.
struct CurlConnectionOptions: ParsableArguments, Sendable {
    @Flag("-4 --ipv4", "Use IPv4 addresses only.") var usesIPv4 = false
    @Flag("-6 --ipv6", "Use IPv6 addresses only.") var usesIPv6 = false
    @Option(curl: "--resolve", "HOST:PORT:ADDRESS[,ADDRESS]", "Connect to these addresses for the name. Repeatable.")
    var resolve: [String] = []
    @Option(curl: "--connect-to", "H1:P1:H2:P2", "Connect to the second host and port for the first. Repeatable.")
    var connectTo: [String] = []
    @Option(curl: "--unix-socket", "PATH", "Connect to this Unix socket.", completion: .file()) var unixSocket: String?
    @Option(curl: "--interface", "NAME", "The network interface or local address to use.") var interface: String?
    @Option(curl: "--connect-timeout", "SECONDS", "Time limit for connecting, and for the TLS handshake.")
    var connectSeconds: Double?
    @Option(
        curl: "-x --proxy --socks4 --socks4a --socks5 --socks5-hostname",
        "URL",
        "The proxy: http, https, socks4, socks4a, socks5 or socks5h."
    )
    var proxy: String?
    @Option(curl: "-U --proxy-user", "USER:PASSWORD", "Login of the proxy.") var proxyUser: String?
    @Option(curl: "--noproxy", "HOSTS", "Hosts without the proxy, with commas; * for all.") var proxyExceptions: String?
    @Flag("-0 --http1.0", "Use HTTP/1.0.") var usesHTTP10 = false
    @Flag("--http1.1", "Use HTTP/1.1.") var usesHTTP11 = false
    @Flag("--http2", "Use HTTP/2 if an https server has it, as without this option.") var usesHTTP2 = false
    @Flag("--http2-prior-knowledge", "Use HTTP/2 only, also for http.") var usesHTTP2Only = false
    @Flag("-k --insecure", "Accept any certificate; the report says so.") var isInsecure = false
    @Option(curl: "-E --cert", "FILE[:PASSWORD]", "Client certificate, in PEM.", completion: .file())
    var certificate: String?
    @Option(curl: "--key", "FILE", "Its private key, in PEM.", completion: .file()) var key: String?
    @Option(curl: "--pass", "PASSWORD", "The password of the private key.") var keyPassword: String?
    @Flag("--tlsv1.2", "Use TLS 1.2 or newer, as without this option.") var usesTLS12 = false
    @Flag("--tlsv1.3", "Use TLS 1.3 or newer.") var usesTLS13 = false
    @Option(curl: "--tls-max", "VERSION", "The newest TLS version: 1.2 or 1.3.") var maximumTLS: String?
    @Option(curl: "--pinnedpubkey", "PINS", "Public keys of the origin: 'sha256//...;sha256//...'.")
    var keyPins: String?
    @Option(curl: "--proto", "PROTOCOLS", "The allowed protocols: =https or =http,https.") var protocols: String?
    @Option(curl: "--proto-redir", "PROTOCOLS", "The protocols to which redirects may lead.")
    var redirectProtocols: String?
    @Flag("-N --no-buffer --progress-bar --no-progress-meter -g --globoff --path-as-is --tcp-nodelay", .hidden)
    var acceptedWithoutEffect = false
}
#endif
