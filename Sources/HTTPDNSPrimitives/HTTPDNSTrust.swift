// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The trust settings of a client: certificate authorities, public-key pins, TLS versions, and the client certificate.
///
/// Clients with equal settings may share connections. Clients whose settings differ in any way share neither connections nor
/// TLS sessions. The value holds paths of files, never their contents: a changed file does not change the settings, and is read
/// again.
public struct HTTPDNSTrust: Hashable, Sendable, CustomStringConvertible {
    /// The verification of a server's certificate.
    public struct Verification: Hashable, Sendable {
        package let isOn: Bool

        /// The chain must end at one of ``HTTPDNSTrust/roots``, and the certificate must be valid for the name.
        public static let chainAndName = Verification(isOn: true)
        /// Any certificate is accepted: **an attacker on the network path can read and change everything**.
        ///
        /// For experiments on your own machine only. The log gets one warning. Public-key pins are still checked.
        public static let insecurelyAcceptingAnyCertificate = Verification(isOn: false)
    }

    /// The certificate authorities at which a server's chain must end.
    public var roots: HTTPDNSTrust.Roots = .system
    /// The client's own certificate, for servers that request one; nil means that the client presents none.
    public var clientCertificate: HTTPDNSTrust.ClientCertificate?
    /// The public keys that a server may have, in addition to all other checks; empty allows any key.
    ///
    /// A match with one of them is enough. Add a second pin, of a key kept offline: without such a backup a lost key locks all
    /// clients out.
    public var pins: [HTTPDNSTrust.PublicKeyPin] = []
    /// The pins of hosts that have their own, instead of ``pins``; see ``pin(_:to:)``.
    public private(set) var pinsByHost: [String: [HTTPDNSTrust.PublicKeyPin]] = [:]
    /// The oldest version of TLS that is allowed (CURLOPT_SSLVERSION).
    public var minimumVersion: HTTPDNSTrust.TLSVersion = .tls12
    /// The newest version of TLS that is allowed (CURLOPT_SSLVERSION). The default is the newest that OpenSSL has.
    ///
    /// A client refuses one that is older than ``minimumVersion``.
    public var maximumVersion: HTTPDNSTrust.TLSVersion = .tls13
    /// The cipher suites for TLS 1.2, in order of preference (CURLOPT_SSL_CIPHER_LIST); empty means OpenSSL's default.
    ///
    /// They have OpenSSL's names: `ECDHE-RSA-AES128-GCM-SHA256`. Keywords such as `HIGH` are not allowed. A client refuses an
    /// unknown name. The list does not limit TLS 1.3.
    public var ciphers: [String] = []
    /// The cipher suites for TLS 1.3, in order of preference (CURLOPT_TLS13_CIPHERS); empty means OpenSSL's default.
    ///
    /// They have the names of RFC 8446 appendix B.4: `TLS_AES_128_GCM_SHA256`. A client refuses an unknown name. The list does
    /// not limit TLS 1.2.
    public var ciphersTLS13: [String] = []
    /// The curves for the key exchange, in order of preference (CURLOPT_SSL_EC_CURVES); empty means OpenSSL's default.
    ///
    /// Their names are `X25519`, `X448`, `P-256`, `P-384`, `P-521`, OpenSSL's other names for the last three, and
    /// `X25519MLKEM768` from OpenSSL 3.5. A client refuses an unknown name. HTTPS proxies are not affected: libcurl has no
    /// option for their curves.
    public var curves: [String] = []
    /// The verification of a server's certificate.
    public var verification: Verification = .chainAndName
    /// Whether the secrets of TLS connections are written to the file of `SSLKEYLOGFILE`, as set when libcurl was loaded.
    ///
    /// With these secrets **all recorded traffic of these connections can be decrypted**. If false, nothing is written there,
    /// unlike libcurl's own default.
    public var writesKeyLog = false

    /// Creates settings with the system's roots, no certificate and no pins.
    public init() {}

    /// Creates settings with the given roots, no certificate and no pins.
    public init(roots: HTTPDNSTrust.Roots) {
        self.roots = roots
    }

    /// Sets the public keys that the servers of some hosts may have.
    ///
    /// The exact name wins, then the longest suffix, then ``pins``.
    /// - Parameters:
    ///   - pattern: A name, `img.shop.example`, or every name below one, `*.shop.example`; ASCII, in any case.
    ///   - pins: At least one pin.
    /// - Throws: ``HTTPDNSTrust/Error`` with code `hostPattern`.
    public mutating func pin(_ pattern: String, to pins: [HTTPDNSTrust.PublicKeyPin]) throws(HTTPDNSTrust.Error) {
        let lower = pattern.lowercased()
        let name = lower.hasPrefix("*.") ? lower.dropFirst(2) : lower[...]
        guard HTTPDNSTrust.isName(name) else {
            throw HTTPDNSTrust.Error(
                .hostPattern,
                "\"\(pattern.escaped(limit: 80))\" is no pattern for hosts; allowed: a name such as img.shop.example, or "
                    + "*.shop.example; an international name as xn--..."
            )
        }
        guard !pins.isEmpty else {
            throw HTTPDNSTrust.Error(.hostPattern, "no pin is given for \(lower); leave it out, or give one")
        }
        pinsByHost[lower] = pins
    }

    /// Sets the public keys that all servers may have, and removes those of single hosts.
    package mutating func pin(_ pins: [HTTPDNSTrust.PublicKeyPin]) {
        self.pins = pins
        pinsByHost = [:]
    }

    private static func isName(_ name: Substring) -> Bool {
        guard (1...253).contains(name.utf8.count) else { return false }
        return name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy {
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0.isDigit || "-_".utf8.contains($0)
                }
        }
    }

    /// Returns the pins for a canonical host; empty when any key is allowed.
    package func pins(for host: String) -> [HTTPDNSTrust.PublicKeyPin] {
        if pinsByHost.isEmpty { return pins }
        if let own = pinsByHost[host] { return own }
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let own = pinsByHost["*.\(rest)"] { return own }
        }
        return pins
    }

    package var hasPins: Bool { !pins.isEmpty || !pinsByHost.isEmpty }

    /// The settings, with paths instead of contents.
    public var description: String {
        var parts = ["roots \(roots)"] + negotiationParts
        if let clientCertificate { parts.append(clientCertificate.description) }
        if hasPins { parts.append("\(pins.count) pins, \(pinsByHost.count) hosts with their own") }
        if verification == .insecurelyAcceptingAnyCertificate { parts.append("ANY CERTIFICATE IS ACCEPTED") }
        if writesKeyLog { parts.append("TLS SECRETS ARE WRITTEN TO SSLKEYLOGFILE") }
        return parts.joined(separator: "; ")
    }
}

extension HTTPDNSTrust {
    /// Whether the settings contain a path that is in use.
    var namesFiles: Bool {
        if case .file = roots.source { return verification == .chainAndName || clientCertificate != nil }
        return clientCertificate != nil
    }
}

extension HTTPDNSTrust {
    /// A client's certificate and key (mutual TLS): PEM files, which are read again when they change.
    ///
    /// Descriptions, logs and errors contain the paths of the files, never their contents.
    public struct ClientCertificate: Hashable, Sendable, CustomStringConvertible {
        /// The PEM file of the certificate, followed by the intermediate certificates (CURLOPT_SSLCERT_BLOB).
        public var certificateFile: String
        /// The PEM file of the private key (CURLOPT_SSLKEY_BLOB); nil when ``certificateFile`` contains it.
        public var keyFile: String?
        /// The source of the password of an encrypted key (CURLOPT_KEYPASSWD); nil for an unencrypted key.
        public var keyPassword: HTTPDNSTrust.KeyPassword?

        /// Creates a value from a certificate and its key.
        public init(certificateFile: String, keyFile: String? = nil, keyPassword: HTTPDNSTrust.KeyPassword? = nil) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.keyPassword = keyPassword
        }

        /// The paths, never the contents.
        public var description: String {
            "certificate \(certificateFile), key \(keyFile ?? "in the same file")\(keyPassword.map { ", \($0)" } ?? "")"
        }
    }
}

extension HTTPDNSTrust {
    /// The source of a private key's password, never the password itself. It is read together with the key.
    public struct KeyPassword: Hashable, Sendable, CustomStringConvertible {
        package enum Place: Hashable, Sendable {
            case file(String)
            case environment(String)
            case closure(Closure)
        }

        /// A closure that returns a password. Two of them are equal if they are the same object.
        package final class Closure: Hashable, Sendable {
            package let text: @Sendable () -> String

            init(_ text: @escaping @Sendable () -> String) { self.text = text }

            package static func == (left: Closure, right: Closure) -> Bool { left === right }
            package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
        }

        package let place: Place

        /// Returns the content of a file as the source, without trailing line ends, at most 4096 bytes.
        public static func file(_ path: String) -> HTTPDNSTrust.KeyPassword {
            HTTPDNSTrust.KeyPassword(place: .file(path))
        }

        /// Returns the value of an environment variable as the source.
        public static func environment(_ name: String) -> HTTPDNSTrust.KeyPassword {
            HTTPDNSTrust.KeyPassword(place: .environment(name))
        }

        /// Returns a closure as the source. It must return quickly, from memory.
        package static func closure(_ text: @escaping @Sendable () -> String) -> HTTPDNSTrust.KeyPassword {
            HTTPDNSTrust.KeyPassword(place: .closure(Closure(text)))
        }

        /// The source of the password, never its value.
        public var description: String {
            switch place {
            case .file(let path): "password in the file \(path)"
            case .environment(let name): "password in the environment variable \(name)"
            case .closure: "password from a closure"
            }
        }
    }
}

extension HTTPDNSTrust {
    /// The SHA-256 of a server's public key (its SubjectPublicKeyInfo), which outlives the certificate when that is renewed
    /// with the same key. Source: RFC 7469 section 2.4, CURLOPT_PINNEDPUBLICKEY.
    ///
    /// ```swift
    /// let pin = try HTTPDNSTrust.PublicKeyPin("sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=")
    /// ```
    ///
    /// A pin of a certificate:
    /// `openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
    /// base64`
    public struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
        /// The canonical text: `sha256//` and 44 characters of base64. Each key has one spelling.
        public let description: String

        /// Parses `sha256//` and base64. The 44 characters alone, as other tools print them, are accepted too.
        /// - Throws: ``HTTPDNSTrust/Error`` with code `publicKeyPin`.
        public init(_ text: String) throws(HTTPDNSTrust.Error) {
            let digest = text.hasPrefix("sha256//") ? text.dropFirst("sha256//".count) : text[...]
            // libcurl quirk: Key pins are compared as text (any version). One key has four spellings in base64. Only the
            // canonical one is accepted, whose last two bits are 0. Tests: PublicKeyPinTests.
            guard Base64.bytes(digest)?.count == 32 else {
                throw HTTPDNSTrust.Error(
                    .publicKeyPin,
                    "\"\(text.escaped(limit: 80))\" is not a public-key pin; allowed: sha256// and 32 bytes in base64 "
                        + "(44 characters that end in =)"
                )
            }
            description = "sha256//\(digest)"
        }
    }
}

extension HTTPDNSTrust {
    /// The certificate authorities at which a TLS server's chain must end.
    public struct Roots: Hashable, Sendable, CustomStringConvertible {
        package enum Source: Hashable, Sendable {
            case system
            case file(String)
        }

        package let source: Source

        /// The system's roots: `SSL_CERT_FILE` if set, else the first bundle that exists of Debian, RHEL or Alpine.
        public static let system = HTTPDNSTrust.Roots(source: .system)

        /// Returns the roots in a PEM file, and no others.
        public static func file(_ path: String) -> HTTPDNSTrust.Roots { HTTPDNSTrust.Roots(source: .file(path)) }

        /// `system`, or the path.
        public var description: String {
            switch source {
            case .system: "system"
            case .file(let path): path
            }
        }
    }
}

extension HTTPDNSTrust {
    /// A version of TLS.
    public struct TLSVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
        /// The minor version number, after `1.`.
        let minor: Int

        /// TLS 1.2 (RFC 5246).
        public static let tls12 = HTTPDNSTrust.TLSVersion(minor: 2)
        /// TLS 1.3 (RFC 8446).
        public static let tls13 = HTTPDNSTrust.TLSVersion(minor: 3)
        /// The newest version that settings can name: it stands for all later ones too.
        package static let newest = tls13

        /// The number: `1.2`, `1.3`.
        public var description: String { "1.\(minor)" }

        /// Returns whether the left version is older.
        public static func < (left: HTTPDNSTrust.TLSVersion, right: HTTPDNSTrust.TLSVersion) -> Bool {
            left.minor < right.minor
        }
    }
}

extension HTTPDNSTrust {
    /// An error in a trust setting, thrown when the setting is made, before anything is sent.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of mistake. Compare with `==`; new versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A short identifier from a bounded set, fit for a metric label.
            public let description: String

            /// A public-key pin that is not `sha256//` and 32 bytes in base64.
            public static let publicKeyPin = Code(description: "public-key-pin")
            /// A host pattern that is neither a name nor `*.` and a name, or that has no pin.
            public static let hostPattern = Code(description: "host-pattern")
            /// A cipher suite that is unknown, belongs in another list, or is listed twice.
            public static let cipher = Code(description: "cipher")
            /// A curve that is unknown or listed twice.
            public static let curve = Code(description: "curve")
            /// A newest version of TLS that is older than the oldest one.
            public static let tlsVersions = Code(description: "tls-versions")
        }

        /// The kind of mistake.
        public let code: Code
        /// The value that was found, the allowed values, and how to get one.
        public let message: String

        package init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }

        /// The message.
        public var description: String { message }
    }
}
