// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore

/// The settings of a local provider in a configuration file (`serve`). A client ignores them.
package struct ServeSettings: Hashable, Sendable {
    /// The lifetime of answers whose mapping has no `ttl`.
    package var timeToLive: Duration = .seconds(60)
    package var alibaba = Alibaba()
    package var tencent = Tencent()
    /// The account of Alidns; nil serves only the free service.
    package var alidns: FileSettings.AlidnsAccount?
    /// The injected failures, by name.
    package var faults: [HTTPDNSRoute.Pattern: Fault] = [:]

    package init() {}

    /// The account of Alibaba's protocols.
    package struct Alibaba: Hashable, Sendable {
        /// The account; nil accepts every number.
        package var account: String?
        /// The secret. With one, queries must be signed.
        package var secret: FileSettings.SecretPlace?
        package var encryptionKey: FileSettings.SecretPlace?
        /// Whether unsigned queries are answered although there is a secret.
        package var takesUnsigned = false
        /// Whether batches of version 1 have a row for each family, as older servers send them, instead of one for each name.
        package var hasRowsByType = false
        /// Whether the scheduling service reports that the account is disabled (`service_status`), so that clients must stop.
        package var isDisabled = false

        package init() {}
    }

    /// The account of Tencent's protocol.
    package struct Tencent: Hashable, Sendable {
        /// The account; nil accepts every number.
        package var identifier: String?
        /// The token for the HTTPS endpoint.
        package var token: FileSettings.SecretPlace?
        /// The key that encrypts names and answers.
        package var encryptionKey: FileSettings.SecretPlace?

        package init() {}
    }

    /// The injected failures for a name.
    package struct Fault: Hashable, Sendable {
        /// The delay of the answer.
        package var delay: Duration?
        package var failure: Failure?
        package var garbage: Garbage?
        /// The number of body bytes that are sent; nil sends all.
        package var cut: Int?
        package var rotation: Rotation?

        package init() {}
    }

    /// An error in place of an answer.
    package enum Failure: Hashable, Sendable {
        /// An HTTP status without a vendor's error code, as a proxy in front of it sends.
        case status(Int)
        /// An error of a vendor's table, or a response code of the DNS.
        case code(String)
    }

    /// Invalid content in place of a valid answer.
    package enum Garbage: String, Hashable, Sendable, CaseIterable {
        /// An HTML page, as a captive portal sends.
        case html
        /// Random bytes.
        case noise
        /// A valid beginning, and 10 MB in all.
        case huge
        /// The first half of the answer.
        case half
        /// An encrypted answer with truncated cipher text; the first half of other answers.
        case cipher
        /// An encrypted answer in another mode than the query's.
        case mode
        /// An encrypted answer without its last digit.
        case oddHex = "odd_hex"
    }

    /// The change of the addresses from answer to answer.
    package enum Rotation: String, Hashable, Sendable, CaseIterable {
        /// All of them, each time starting with the next one.
        case order
        /// One of them, each time the next.
        case single
    }

    /// Returns the injected failures for `host`: by its name, else by the longest suffix, else by `*`.
    package func fault(for host: HTTPDNSName) -> Fault? {
        if let fault = faults[.exact(host)] { return fault }
        let suffixes = faults.keys.filter { $0 != .any && $0.contains(host) }
        let longest = suffixes.max { $0.description.utf8.count < $1.description.utf8.count }
        return faults[longest ?? .any]
    }
}
