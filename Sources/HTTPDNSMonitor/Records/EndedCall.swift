// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore

/// A call that has ended, of which a record can be made.
struct EndedCall: Sendable {
    var call: HTTPDNSClient.CallRecord
    /// The URL of the caller's request, as it was written.
    let url: String
    /// The targets of the hops, one for each.
    let targets: [HopTarget]
    /// Milliseconds since 1970.
    let startTime: Int64

    init(_ call: HTTPDNSClient.CallRecord, _ details: CallDetails, startTime: Int64) {
        self.call = call
        url = details.request.url
        // By index: the variable of a loop would be a copy of a hop.
        targets = call.hops.indices.map { index in
            let text = call.hops[index].messages?.url ?? ""
            return HopTarget(text, details.resolver, canonical: call.hops[index].rewritten?.canonical(of: text))
        }
        self.startTime = startTime
    }

    /// About the bytes of the other objects of a hop: the rewritten request, the notes of its transfer, lists of attempts.
    private static let others = 1024

    /// The memory that the call takes, estimated: its texts, and the size of its fixed parts.
    var estimatedBytes: Int {
        call.hops.indices.reduce(MemoryLayout<Self>.stride + url.utf8.count) { sum, index in
            sum + MemoryLayout<HTTPDNSClient.CallRecord.Hop>.stride + MemoryLayout<HopTarget>.stride + Self.others
                + (call.hops[index].messages?.estimatedBytes ?? 0)
        }
    }
}

/// The target of a hop: its URL in canonical form, and the labels that it is counted under.
struct HopTarget: Sendable {
    /// Nil for a text that is no http or https URL.
    let url: HTTPDNSRewriter.CanonicalURL?
    /// The host without its port; `-` for a text that is no http or https URL.
    let host: String
    /// The pattern of the host's route; `none` without one.
    let route: String

    /// - Parameter canonical: The URL in canonical form, if it is known.
    init(_ text: String, _ resolver: HTTPDNSResolver?, canonical: HTTPDNSRewriter.CanonicalURL? = nil) {
        url = canonical ?? (try? HTTPDNSRewriter.Canonicalizer.canonicalize(text))
        host = url?.host.description ?? "-"
        guard case .name(let name)? = url?.host, let route = resolver?.route(for: name) else {
            route = "none"
            return
        }
        self.route = route.pattern.description
    }
}
