// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The HTTP versions that the HTTPS records for one endpoint offer over TLS and TCP (RFC 9460 section 7.1).
///
/// Several records can lead to one endpoint. The most preferred one decides about a request that allows several versions. A
/// request that allows one version uses the endpoint if any of the records offers that version.
package struct OfferedVersions: Hashable, Sendable {
    private struct Versions: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        static let http1 = Versions(rawValue: 1)
        static let http2 = Versions(rawValue: 2)
    }

    /// The versions of the most preferred record.
    private var preferred: Versions
    /// The versions of all records.
    private var any: Versions

    /// The versions of an endpoint that no record limits.
    package static let all = OfferedVersions(applicationProtocols: ["http/1.1", "h2"])

    /// Creates the versions of one record. Protocols without an HTTP version over TCP, such as `h3`, are ignored.
    /// - Parameter applicationProtocols: The record's ALPN identifiers, its default included.
    package init(applicationProtocols: some Sequence<String>) {
        preferred = []
        for name in applicationProtocols {
            switch name {
            case "http/1.1": preferred.insert(.http1)
            case "h2": preferred.insert(.http2)
            default: break
            }
        }
        any = preferred
    }

    /// Whether no version is offered: the record is not usable (RFC 9460 section 7.1.2).
    package var isEmpty: Bool { any.isEmpty }

    /// Adds the versions of a less preferred record for the same endpoint.
    package mutating func add(_ other: OfferedVersions) {
        any.formUnion(other.any)
    }

    /// Returns the allowed versions for a connection to the endpoint; nil when the endpoint offers none of those that the
    /// request allows.
    package func versions(for requested: HTTPDNSTransfer.AllowedVersions) -> HTTPDNSTransfer.AllowedVersions? {
        switch requested.kind {
        // HTTP/1.0 has no identifier of its own in records.
        case .http1Only, .http10Only: any.contains(.http1) ? requested : nil
        case .http2Only: any.contains(.http2) ? requested : nil
        case .automatic:
            switch preferred {
            case .http1: .http1Only
            case .http2: .http2Only
            case []: nil
            default: requested
            }
        }
    }
}
