// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// The settings of the TLS negotiation: names of cipher suites and curves, and their checks. OpenSSL ignores an unknown name
// in a list of TLS 1.2 suites if it knows another one, so that a misspelled suite would be missing without an error.
extension HTTPDNSTrust {
    /// A list of names for the TLS negotiation.
    package enum NameList: String, Sendable, CaseIterable {
        case ciphers, ciphersTLS13, curves

        /// The names that are allowed, in alphabetical order.
        package var names: [String] {
            switch self {
            case .ciphers: HTTPDNSTrust.suitesOfTLS12.sorted()
            case .ciphersTLS13: HTTPDNSTrust.suitesOfTLS13.sorted()
            case .curves: HTTPDNSTrust.curvesByName.keys.sorted()
            }
        }

        fileprivate func contains(_ name: String) -> Bool {
            switch self {
            case .ciphers: HTTPDNSTrust.suitesOfTLS12.contains(name)
            case .ciphersTLS13: HTTPDNSTrust.suitesOfTLS13.contains(name)
            case .curves: HTTPDNSTrust.curvesByName[name] != nil
            }
        }

        /// Returns the name under which two names of one curve are equal.
        fileprivate func identity(of name: String) -> String {
            self == .curves ? HTTPDNSTrust.curvesByName[name] ?? name : name
        }

        fileprivate var subject: String {
            switch self {
            case .ciphers: "a cipher suite of TLS 1.2"
            case .ciphersTLS13: "a cipher suite of TLS 1.3"
            case .curves: "a curve"
            }
        }

        /// The end of a sentence about a name of another list.
        fileprivate var rest: String {
            switch self {
            case .ciphers: "of TLS 1.2"
            case .ciphersTLS13: "of TLS 1.3"
            case .curves: "a curve"
            }
        }

        fileprivate var allowed: String {
            switch self {
            case .ciphers: "OpenSSL's names, such as ECDHE-RSA-AES128-GCM-SHA256; openssl ciphers -s -tls1_2 lists them"
            case .ciphersTLS13, .curves: names.joined(separator: ", ")
            }
        }

        /// Checks the names of a list.
        /// - Throws: ``HTTPDNSTrust/Error`` with code `cipher` or `curve` for an unknown name, and for a name that is listed
        ///   twice.
        package func check(_ list: [String]) throws(HTTPDNSTrust.Error) {
            let code: HTTPDNSTrust.Error.Code = self == .curves ? .curve : .cipher
            var known: Set<String> = []
            for name in list {
                guard contains(name) else {
                    let shown = "\"\(name.escaped(limit: 80))\""
                    if let right = NameList.allCases.first(where: { $0.contains(name) }) {
                        throw HTTPDNSTrust.Error(code, "\(shown) is \(right.subject), and not \(rest)")
                    }
                    throw HTTPDNSTrust.Error(code, "\(shown) is not \(subject); allowed: \(allowed)")
                }
                guard known.insert(identity(of: name)).inserted else {
                    throw HTTPDNSTrust.Error(code, "\(name) is listed twice")
                }
            }
        }
    }

    /// Checks versions, cipher suites and curves, as far as that is possible without OpenSSL.
    /// - Throws: ``HTTPDNSTrust/Error`` with code `tlsVersions`, `cipher` or `curve`.
    package func checkNegotiation() throws(HTTPDNSTrust.Error) {
        guard minimumVersion <= maximumVersion else {
            throw HTTPDNSTrust.Error(
                .tlsVersions,
                "the oldest version of TLS that is allowed is \(minimumVersion), and the newest is \(maximumVersion): no "
                    + "version is left"
            )
        }
        try NameList.ciphers.check(ciphers)
        try NameList.ciphersTLS13.check(ciphersTLS13)
        try NameList.curves.check(curves)
    }

    /// Whether only a test can tell that the settings are usable: they contain paths, or names of algorithms, of which a TLS
    /// library may have fewer than are known here. The test reports a mistake before the first request.
    package var needsTest: Bool { namesFiles || !ciphers.isEmpty || !ciphersTLS13.isEmpty || !curves.isEmpty }

    /// The parts of the description about the negotiation.
    var negotiationParts: [String] {
        var parts = [
            maximumVersion == .newest ? "TLS \(minimumVersion) or newer" : "TLS \(minimumVersion) to \(maximumVersion)"
        ]
        if !ciphers.isEmpty { parts.append("TLS 1.2 ciphers \(ciphers.joined(separator: ":"))") }
        if !ciphersTLS13.isEmpty { parts.append("TLS 1.3 ciphers \(ciphersTLS13.joined(separator: ":"))") }
        if !curves.isEmpty { parts.append("curves \(curves.joined(separator: ":"))") }
        return parts
    }

    /// The suites of RFC 8446 appendix B.4.
    private static let suitesOfTLS13: Set<String> = [
        "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256",
        "TLS_AES_128_CCM_8_SHA256",
    ]

    /// The suites with encryption and an RSA or ECDSA certificate (`openssl ciphers -tls1_2 'ALL:!PSK:!SRP:!aNULL:!eNULL:!DSS'`,
    /// OpenSSL 3.0). A build of OpenSSL may have fewer.
    private static let suitesOfTLS12: Set<String> = Set(
        """
        ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-GCM-SHA384 DHE-RSA-AES256-GCM-SHA384
        ECDHE-ECDSA-CHACHA20-POLY1305 ECDHE-RSA-CHACHA20-POLY1305 DHE-RSA-CHACHA20-POLY1305
        ECDHE-ECDSA-AES256-CCM8 ECDHE-ECDSA-AES256-CCM DHE-RSA-AES256-CCM8 DHE-RSA-AES256-CCM
        ECDHE-ECDSA-ARIA256-GCM-SHA384 ECDHE-ARIA256-GCM-SHA384 DHE-RSA-ARIA256-GCM-SHA384
        ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-RSA-AES128-GCM-SHA256 DHE-RSA-AES128-GCM-SHA256
        ECDHE-ECDSA-AES128-CCM8 ECDHE-ECDSA-AES128-CCM DHE-RSA-AES128-CCM8 DHE-RSA-AES128-CCM
        ECDHE-ECDSA-ARIA128-GCM-SHA256 ECDHE-ARIA128-GCM-SHA256 DHE-RSA-ARIA128-GCM-SHA256
        ECDHE-ECDSA-AES256-SHA384 ECDHE-RSA-AES256-SHA384 DHE-RSA-AES256-SHA256
        ECDHE-ECDSA-CAMELLIA256-SHA384 ECDHE-RSA-CAMELLIA256-SHA384 DHE-RSA-CAMELLIA256-SHA256
        ECDHE-ECDSA-AES128-SHA256 ECDHE-RSA-AES128-SHA256 DHE-RSA-AES128-SHA256
        ECDHE-ECDSA-CAMELLIA128-SHA256 ECDHE-RSA-CAMELLIA128-SHA256 DHE-RSA-CAMELLIA128-SHA256
        ECDHE-ECDSA-AES256-SHA ECDHE-RSA-AES256-SHA DHE-RSA-AES256-SHA DHE-RSA-CAMELLIA256-SHA
        ECDHE-ECDSA-AES128-SHA ECDHE-RSA-AES128-SHA DHE-RSA-AES128-SHA DHE-RSA-CAMELLIA128-SHA
        AES256-GCM-SHA384 AES256-CCM8 AES256-CCM ARIA256-GCM-SHA384 AES128-GCM-SHA256 AES128-CCM8 AES128-CCM
        ARIA128-GCM-SHA256 AES256-SHA256 CAMELLIA256-SHA256 AES128-SHA256 CAMELLIA128-SHA256 AES256-SHA CAMELLIA256-SHA
        AES128-SHA CAMELLIA128-SHA
        """.split { $0 == " " || $0 == "\n" }.map(String.init)
    )

    /// The names of curves, and for each a name that all its names share (RFC 8422 section 5.1.1, RFC 8446 section 4.2.7).
    /// X25519MLKEM768 needs OpenSSL 3.5.
    private static let curvesByName = [
        "X25519": "X25519", "X448": "X448", "X25519MLKEM768": "X25519MLKEM768",
        "P-256": "P-256", "prime256v1": "P-256", "P-384": "P-384", "secp384r1": "P-384", "P-521": "P-521",
        "secp521r1": "P-521",
    ]
}
