// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// A value that counts the clients of each trust setting in use.
struct TrustRegistry {
    enum Lease {
        case granted([HTTPDNSTrust: TrustedTransport])
        case tooMany
        case closed
    }

    /// The state of a client's lease.
    enum Holding {
        /// The settings of its requests.
        case inUse
        /// The settings that it may use next.
        case candidate
        /// The settings that it has replaced, with requests still in flight.
        case leaving
    }

    private struct Entry {
        let transport: TrustedTransport
        /// The clients that use the settings, or may use them next.
        var users = 0
        /// The clients that have replaced the settings.
        var leaving = 0
    }

    private var entries: [HTTPDNSTrust: Entry] = [:]
    private var isClosed = false

    /// The number of clients that are not shut down.
    private(set) var clients = 0
    var transports: [TrustedTransport] { entries.values.map(\.transport) }

    /// Leases all of these settings or none.
    /// - Parameters:
    ///   - offer: The settings, each with a transport to use if they have no user yet.
    ///   - held: The settings that the client will give up, which do not count if it is their only user; nil for a new
    ///     client.
    mutating func lease(
        _ offer: [HTTPDNSTrust: TrustedTransport],
        insteadOf held: Set<HTTPDNSTrust>?,
        maximum: Int
    ) -> Lease {
        if isClosed { return .closed }
        let others = entries.count { trust, entry in
            offer[trust] == nil && entry.users > (held?.contains(trust) == true ? 1 : 0)
        }
        // Settings that the client keeps are always allowed, whatever the limit is.
        guard others + offer.count <= maximum || held?.isSuperset(of: offer.keys) == true else { return .tooMany }
        for (trust, transport) in offer {
            entries[trust, default: Entry(transport: transport)].users += 1
        }
        if held == nil { clients += 1 }
        return .granted(entries.filter { offer[$0.key] != nil }.mapValues(\.transport))
    }

    /// Records that a client has replaced these settings.
    mutating func leave(_ trusts: Set<HTTPDNSTrust>) {
        for trust in trusts {
            entries[trust]?.users -= 1
            entries[trust]?.leaving += 1
        }
    }

    /// - Returns: The transports without further users.
    mutating func release(_ trusts: Set<HTTPDNSTrust>, held holding: Holding) -> [TrustedTransport] {
        if holding == .inUse { clients -= 1 }
        var unused: [TrustedTransport] = []
        for trust in trusts {
            guard var entry = entries[trust] else { continue }
            if holding == .leaving { entry.leaving -= 1 } else { entry.users -= 1 }
            let isUnused = entry.users + entry.leaving == 0
            entries[trust] = isUnused ? nil : entry
            if isUnused { unused.append(entry.transport) }
        }
        return unused
    }

    /// Refuses new clients and settings from now on.
    mutating func close() -> [TrustedTransport] {
        isClosed = true
        return transports
    }
}

/// The file and line of trust settings, for errors about their files: `httpdns.yaml:7:3: client.ca_file`.
package struct TrustOrigin: Sendable {
    /// The position of the trust roots.
    package var authorities: String?
    /// The position of the client certificate.
    package var certificate: String?
    /// The position of the TLS versions, cipher suites and curves.
    package var negotiation: String?

    package init() {}

    /// Returns the prefix of an error about one of the files.
    func prefix(_ code: TransferFailure.Code) -> String {
        let place =
            switch code {
            case .clientCertificateUnusable: certificate
            case .tlsSettingsRefused: negotiation
            default: authorities
            }
        return place.map { "\($0): " } ?? ""
    }
}
