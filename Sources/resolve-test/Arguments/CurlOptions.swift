// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser
internal import HTTPDNS

/// The options of `fetch` about the request and its connection, with curl's names and meanings.
struct CurlOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("url"),
        parsing: .unconditional,
        help: ArgumentHelp("The URL, as an option.", valueName: "URL")
    )
    var url: String?

    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects.")
    var followsRedirects = false

    @Flag(
        name: .customLong("location-trusted"),
        help: "Follow redirects, and send fields with secrets to every origin of them."
    )
    var trustsRedirects = false

    @Option(
        name: [.customLong("max-redirs"), .customLong("max-redirects")],
        parsing: .unconditional,
        help: ArgumentHelp("With -L, how many redirects are followed, 0 to 100, or -1 for 100.", valueName: "NUMBER")
    )
    var maximumRedirects: Int?

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Send HEAD, and print the header fields.")
    var isHead = false

    @Flag(name: [.customShort("G"), .customLong("get")], help: "Append the data of -d to the URL.")
    var putsDataInQuery = false

    @Option(
        name: [.customShort("F"), .customLong("form"), .customLong("form-string")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Part of a multipart form; with -F, NAME=@FILE sends a file. Repeatable.",
            valueName: "NAME=CONTENT"
        )
    )
    var form: [String] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")],
        parsing: .unconditional,
        help: ArgumentHelp("Send this file with PUT; - is standard input.", valueName: "FILE"),
        completion: .file()
    )
    var uploadFile: String?

    @Option(
        name: [.customShort("u"), .customLong("user")],
        parsing: .unconditional,
        help: ArgumentHelp("Login of the origin.", valueName: "USER:PASSWORD")
    )
    var user: String?

    @Flag(name: .customLong("digest"), help: "Use Digest for -u.")
    var usesDigest = false

    @Flag(name: .customLong("basic"), help: "Use Basic for -u, the default.")
    var usesBasic = false

    @Option(
        name: .customLong("oauth2-bearer"),
        parsing: .unconditional,
        help: ArgumentHelp("Bearer token of the origin.", valueName: "TOKEN")
    )
    var bearerToken: String?

    @Option(
        name: [.customShort("A"), .customLong("user-agent")],
        parsing: .unconditional,
        help: ArgumentHelp("The field User-Agent; none if left out.", valueName: "NAME")
    )
    var userAgent: String?

    @Option(
        name: [.customShort("e"), .customLong("referer")],
        parsing: .unconditional,
        help: ArgumentHelp("The field Referer.", valueName: "URL")
    )
    var referer: String?

    @Option(
        name: [.customShort("b"), .customLong("cookie")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Cookies to send: 'NAME=VALUE; NAME=VALUE'. Repeatable.", valueName: "COOKIES")
    )
    var cookies: [String] = []

    @Option(
        name: [.customShort("r"), .customLong("range")],
        parsing: .unconditional,
        help: ArgumentHelp("The part of the resource: 0-99, 500- or -500.", valueName: "RANGE")
    )
    var range: String?

    @Flag(name: .customLong("compressed"), help: "Ask for content codings, and decode the body.")
    var decodesBody = false

    @Flag(name: .customLong("raw"), help: "Keep content codings, and the chunks of HTTP/1.1.")
    var keepsCodings = false

    @Option(
        name: .customLong("limit-rate"),
        parsing: .unconditional,
        help: ArgumentHelp("Bytes per second of the bodies; with k, M or G behind.", valueName: "SPEED")
    )
    var rateLimit: String?

    @Option(
        name: .customLong("max-filesize"),
        parsing: .unconditional,
        help: ArgumentHelp("The longest response body; with k, M or G behind.", valueName: "BYTES")
    )
    var maximumBody: String?

    @Option(
        name: .customLong("retry"),
        parsing: .unconditional,
        help: ArgumentHelp("Repeat the request after a time-out, 408, 429 or 5xx, 0 to 100 times.", valueName: "NUMBER")
    )
    var retries: Int?

    @Option(
        name: .customLong("retry-delay"),
        parsing: .unconditional,
        help: ArgumentHelp("The time between them; 1 s, doubled each time, if left out.", valueName: "SECONDS")
    )
    var retryDelay: Double?

    @Flag(name: .customLong("retry-connrefused"), help: "Repeat a refused connection, too.")
    var retriesConnecting = false

    @Flag(name: .customLong("retry-all-errors"), help: "Repeat after every error and status of 400 or more.")
    var retriesEverything = false

    @OptionGroup
    var connection: CurlConnectionOptions
}

/// The options of `fetch` about the connection, with curl's names and meanings.
struct CurlConnectionOptions: ParsableArguments, Sendable {
    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use IPv4 addresses only.")
    var usesIPv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use IPv6 addresses only.")
    var usesIPv6 = false

    @Option(
        name: .customLong("resolve"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Connect to these addresses for the name. Repeatable.",
            valueName: "HOST:PORT:ADDRESS[,ADDRESS]"
        )
    )
    var resolve: [String] = []

    @Option(
        name: .customLong("connect-to"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Connect to the second host and port for the first. Repeatable.", valueName: "H1:P1:H2:P2")
    )
    var connectTo: [String] = []

    @Option(
        name: .customLong("unix-socket"),
        parsing: .unconditional,
        help: ArgumentHelp("Connect to this Unix socket.", valueName: "PATH"),
        completion: .file()
    )
    var unixSocket: String?

    @Option(
        name: .customLong("interface"),
        parsing: .unconditional,
        help: ArgumentHelp("The network interface or local address to use.", valueName: "NAME")
    )
    var interface: String?

    @Option(
        name: .customLong("connect-timeout"),
        parsing: .unconditional,
        help: ArgumentHelp("Time limit for connecting, and for the TLS handshake.", valueName: "SECONDS")
    )
    var connectSeconds: Double?

    @Option(
        name: [
            .customShort("x"), .customLong("proxy"), .customLong("socks4"), .customLong("socks4a"),
            .customLong("socks5"),
            .customLong("socks5-hostname"),
        ],
        parsing: .unconditional,
        help: ArgumentHelp("The proxy: http, https, socks4, socks4a, socks5 or socks5h.", valueName: "URL")
    )
    var proxy: String?

    @Option(
        name: [.customShort("U"), .customLong("proxy-user")],
        parsing: .unconditional,
        help: ArgumentHelp("Login of the proxy.", valueName: "USER:PASSWORD")
    )
    var proxyUser: String?

    @Option(
        name: .customLong("noproxy"),
        parsing: .unconditional,
        help: ArgumentHelp("Hosts without the proxy, with commas; * for all.", valueName: "HOSTS")
    )
    var proxyExceptions: String?

    @Flag(name: [.customShort("0"), .customLong("http1.0")], help: "Use HTTP/1.0.")
    var usesHTTP10 = false

    @Flag(name: .customLong("http1.1"), help: "Use HTTP/1.1.")
    var usesHTTP11 = false

    @Flag(name: .customLong("http2"), help: "Use HTTP/2 if an https server has it, as without this option.")
    var usesHTTP2 = false

    @Flag(name: .customLong("http2-prior-knowledge"), help: "Use HTTP/2 only, also for http.")
    var usesHTTP2Only = false

    @Flag(name: [.customShort("k"), .customLong("insecure")], help: "Accept any certificate; the report says so.")
    var isInsecure = false

    @Option(
        name: [.customShort("E"), .customLong("cert")],
        parsing: .unconditional,
        help: ArgumentHelp("Client certificate, in PEM.", valueName: "FILE[:PASSWORD]"),
        completion: .file()
    )
    var certificate: String?

    @Option(
        name: .customLong("key"),
        parsing: .unconditional,
        help: ArgumentHelp("Its private key, in PEM.", valueName: "FILE"),
        completion: .file()
    )
    var key: String?

    @Option(
        name: .customLong("pass"),
        parsing: .unconditional,
        help: ArgumentHelp("The password of the private key.", valueName: "PASSWORD")
    )
    var keyPassword: String?

    @Flag(name: .customLong("tlsv1.2"), help: "Use TLS 1.2 or newer, as without this option.")
    var usesTLS12 = false

    @Flag(name: .customLong("tlsv1.3"), help: "Use TLS 1.3 or newer.")
    var usesTLS13 = false

    @Option(
        name: .customLong("tls-max"),
        parsing: .unconditional,
        help: ArgumentHelp("The newest TLS version: 1.2 or 1.3.", valueName: "VERSION")
    )
    var maximumTLS: String?

    @Option(
        name: .customLong("pinnedpubkey"),
        parsing: .unconditional,
        help: ArgumentHelp("Public keys of the origin: 'sha256//...;sha256//...'.", valueName: "PINS")
    )
    var keyPins: String?

    @Option(
        name: .customLong("proto"),
        parsing: .unconditional,
        help: ArgumentHelp("The allowed protocols: =https or =http,https.", valueName: "PROTOCOLS")
    )
    var protocols: String?

    @Option(
        name: .customLong("proto-redir"),
        parsing: .unconditional,
        help: ArgumentHelp("The protocols to which redirects may lead.", valueName: "PROTOCOLS")
    )
    var redirectProtocols: String?

    @Flag(
        name: [
            .customShort("N"), .customLong("no-buffer"), .customLong("progress-bar"), .customLong("no-progress-meter"),
            .customShort("g"), .customLong("globoff"), .customLong("path-as-is"), .customLong("tcp-nodelay"),
        ],
        help: .hidden
    )
    var acceptedWithoutEffect = false
}
