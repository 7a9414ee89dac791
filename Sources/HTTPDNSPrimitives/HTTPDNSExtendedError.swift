// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The reason that a DNS server gives for its answer or its failure (Extended DNS Errors, RFC 8914).
public struct HTTPDNSExtendedError: Hashable, Sendable, CustomStringConvertible {
    /// The number in IANA's registry, such as 15 for Blocked.
    public let code: UInt16
    /// The server's own text in printable ASCII, at most 80 characters; empty without one.
    public let text: String

    /// Creates a reason. Other characters of the text become `?`.
    public init(code: UInt16, text: String = "") {
        self.code = code
        self.text = UntrustedText.excerpt(text)
    }

    /// The reason without the server's text.
    package var withoutText: HTTPDNSExtendedError { HTTPDNSExtendedError(code: code) }

    /// The name in the registry, the number and the text: `Blocked (15): malware`.
    public var description: String {
        let name = code < Self.names.count ? Self.names[Int(code)] : "extended error"
        return "\(name) (\(code))" + (text.isEmpty ? "" : ": \(text)")
    }

    /// IANA's registry of Extended DNS Error codes, from 0 on.
    private static let names = [
        "Other Error", "Unsupported DNSKEY Algorithm", "Unsupported DS Digest Type", "Stale Answer", "Forged Answer",
        "DNSSEC Indeterminate", "DNSSEC Bogus", "Signature Expired", "Signature Not Yet Valid", "DNSKEY Missing",
        "RRSIGs Missing", "No Zone Key Bit Set", "NSEC Missing", "Cached Error", "Not Ready", "Blocked", "Censored",
        "Filtered", "Prohibited", "Stale NXDomain Answer", "Not Authoritative", "Not Supported",
        "No Reachable Authority",
        "Network Error", "Invalid Data", "Signature Expired before Valid", "Too Early",
        "Unsupported NSEC3 Iterations Value", "Unable to conform to policy", "Synthesized",
    ]
}
