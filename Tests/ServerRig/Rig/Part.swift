// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

extension ServerRig {
    /// A program that must be installed for a suite to run.
    public enum Part: String, Hashable, Sendable, CaseIterable {
        /// The origins: nginx with its Lua module.
        case nginx
        /// The HTTP-DNS provider.
        case bind
        /// The tool that makes the certificates; both servers need it.
        case openssl
        /// Independent clients, as witnesses: curl and dig.
        case witnesses
        /// The HTTP proxy.
        case squid
        /// The SOCKS 5 proxy.
        case microsocks
        /// A server with time limits of its own.
        case haproxy
        /// The origin with logins for Basic and Digest.
        case apache
        /// The origin with Digest by SHA-256 and `auth-int`.
        case httpbin
        /// The metrics server and `promtool`.
        case prometheus
        /// A C compiler, for ``Tripwire`` and ``SystemAnswers``.
        case compiler

        var isInstalled: Bool {
            switch self {
            case .nginx:
                Command.find("nginx") != nil && access("/usr/lib/nginx/modules/ngx_http_lua_module.so", R_OK) == 0
                    && Part.openssl.isInstalled
            case .bind: Command.find("named") != nil && Command.find("nsupdate") != nil && Part.openssl.isInstalled
            case .openssl: Command.find("openssl") != nil
            case .witnesses: Command.find("curl") != nil && Command.find("dig") != nil
            case .squid: Command.find("squid") != nil
            case .microsocks: Command.find("microsocks") != nil
            case .haproxy: Command.find("haproxy") != nil
            case .apache:
                Command.find("apache2") != nil && Part.openssl.isInstalled
                    && access("\(ApacheServer.modules)/mod_auth_digest.so", R_OK) == 0
            case .httpbin:
                access(HTTPBinServer.interpreter, X_OK) == 0 && access(HTTPBinServer.package, R_OK) == 0
            case .prometheus: Command.find("prometheus") != nil && Command.find("promtool") != nil
            case .compiler: PreloadedLibrary.compiler != nil
            }
        }

        var packages: String {
            switch self {
            case .nginx: "nginx-light libnginx-mod-http-lua openssl"
            case .bind: "bind9 bind9-dnsutils openssl"
            case .openssl: "openssl"
            case .witnesses: "curl bind9-dnsutils"
            case .squid: "squid"
            case .microsocks: "microsocks"
            case .haproxy: "haproxy"
            case .apache: "apache2-bin openssl"
            case .httpbin: "python3-httpbin"
            case .prometheus: "prometheus"
            case .compiler: "gcc libc6-dev"
            }
        }
    }

    /// Whether the environment requires every suite to run (`HTTPDNS_TEST_SERVERS=required`, as `make test` does).
    public static var isRequired: Bool { servers == "required" }

    /// Whether the environment leaves out all suites with servers (`HTTPDNS_TEST_SERVERS=none`, as `make test-fast` does).
    public static var isLeftOut: Bool { servers == "none" }

    private static var servers: String? { getenv("HTTPDNS_TEST_SERVERS").map { String(cString: $0) } }

    /// Whether the environment states that the process runs one test at a time (`HTTPDNS_TEST_ALONE=1`, as `make test` does
    /// for tests in real time).
    public static var hasProcessForItself: Bool {
        getenv("HTTPDNS_TEST_ALONE").map { String(cString: $0) } == "1"
    }

    /// Whether tests in real time last as long as in operation, minutes instead of seconds (`make endurance`).
    public static var hasTime: Bool {
        getenv("HTTPDNS_TEST_LONG").map { String(cString: $0) } == "1"
    }

    /// Returns whether a suite that needs `parts` can run: `@Suite(.enabled(if: ServerRig.isAvailable([.nginx, .bind])))`.
    ///
    /// A skipped suite is reported once on standard error, with the programs to install. Where servers are required the result
    /// is always true, so that a missing one fails the run.
    public static func isAvailable(_ parts: Set<Part>, suite: String = #fileID) -> Bool {
        if isRequired { return true }
        if isLeftOut { return false }
        let missing = parts.filter { !$0.isInstalled }.sorted { $0.rawValue < $1.rawValue }
        if missing.isEmpty { return true }
        let names = missing.map(\.rawValue).joined(separator: " and ")
        let packages = Set(missing.flatMap { $0.packages.split(separator: " ") }).sorted().joined(separator: " ")
        let verb = missing.count == 1 ? "is" : "are"
        let line =
            "left out: \(suite) because \(names) \(verb) not installed (apt-get install \(packages), or: make test)\n"
        if reported.withLock({ $0.insert(suite).inserted }) {
            _ = write(STDERR_FILENO, line, line.utf8.count)
        }
        return false
    }

    private static let reported = Lock<Set<String>>([])
}
