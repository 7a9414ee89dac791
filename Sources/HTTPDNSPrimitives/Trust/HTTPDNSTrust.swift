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
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
                        || $0 == UInt8(ascii: "_")
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
        var parts = ["roots \(roots)", "TLS \(minimumVersion) or newer"]
        if let clientCertificate { parts.append(clientCertificate.description) }
        if hasPins { parts.append("\(pins.count) pins, \(pinsByHost.count) hosts with their own") }
        if verification == .insecurelyAcceptingAnyCertificate { parts.append("ANY CERTIFICATE IS ACCEPTED") }
        if writesKeyLog { parts.append("TLS SECRETS ARE WRITTEN TO SSLKEYLOGFILE") }
        return parts.joined(separator: "; ")
    }
}

extension HTTPDNSTrust {
    /// Whether the settings contain a path, so that a mistake in it can be reported early.
    package var namesFiles: Bool {
        if case .file = roots.source { return verification == .chainAndName || clientCertificate != nil }
        return clientCertificate != nil
    }
}
