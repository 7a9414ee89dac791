package import HTTPDNSCore

/// What a configuration file says about being served by a local provider (`serve`). A client does not look at it.
package struct ServeSettings: Hashable, Sendable {
    /// The life of answers whose mapping has no `ttl`.
    package var timeToLive: Duration = .seconds(60)
    package var alibaba = Alibaba()
    package var tencent = Tencent()
    /// The account of Alidns; nil leaves the free service alone.
    package var alidns: FileSettings.AlidnsAccount?
    /// What goes wrong, by name.
    package var faults: [HTTPDNSRoute.Pattern: Fault] = [:]

    package init() {}

    /// The account of Alibaba's protocols.
    package struct Alibaba: Hashable, Sendable {
        /// Nil takes every number.
        package var account: String?
        /// With a secret, queries must be signed.
        package var secret: FileSettings.SecretPlace?
        package var encryptionKey: FileSettings.SecretPlace?
        /// Whether unsigned queries are answered although there is a secret.
        package var takesUnsigned = false
        /// Whether batches of version 1 have a row for each family, as older servers send them, and not one for each name.
        package var hasRowsByType = false
        /// Whether the schedule centre says that the account is switched off (`service_status`), upon which clients must
        /// stop.
        package var isDisabled = false

        package init() {}
    }

    /// The account of Tencent's protocol.
    package struct Tencent: Hashable, Sendable {
        /// Nil takes every number.
        package var identifier: String?
        /// What opens the HTTPS entry.
        package var token: FileSettings.SecretPlace?
        /// What encrypts names and answers.
        package var encryptionKey: FileSettings.SecretPlace?

        package init() {}
    }

    /// What goes wrong about a name.
    package struct Fault: Hashable, Sendable {
        /// How long the answer is held back.
        package var delay: Duration?
        package var failure: Failure?
        package var garbage: Garbage?
        /// How many octets of the body are sent; nil sends all.
        package var cut: Int?
        package var rotation: Rotation?

        package init() {}
    }

    /// An error in the place of an answer.
    package enum Failure: Hashable, Sendable {
        /// An HTTP status without a word of the vendor, as a proxy in front of it sends.
        case status(Int)
        /// An error of a vendor's table, or a response code of DNS.
        case code(String)
    }

    /// What stands in the place of a good answer.
    package enum Garbage: String, Hashable, Sendable, CaseIterable {
        /// A page of HTML, as a portal sends.
        case html
        /// Octets without meaning.
        case noise
        /// A good beginning, and 10 MB in all.
        case huge
        /// The first half of the answer.
        case half
        /// An encrypted answer whose cipher text was cut off; of others the first half.
        case cipher
        /// An encrypted answer in another mode than the query's.
        case mode
        /// An encrypted answer without its last digit.
        case oddHex = "odd_hex"
    }

    /// How the addresses change from answer to answer.
    package enum Rotation: String, Hashable, Sendable, CaseIterable {
        /// All of them, each time from the next one on.
        case order
        /// One of them, each time the next.
        case single
    }

    /// What goes wrong about `host`: by its name, else by the longest suffix, else by `*`.
    package func fault(for host: HTTPDNSName) -> Fault? {
        if let fault = faults[.exact(host)] { return fault }
        let suffixes = faults.keys.filter { $0 != .any && $0.contains(host) }
        let longest = suffixes.max { $0.description.utf8.count < $1.description.utf8.count }
        return faults[longest ?? .any]
    }
}
