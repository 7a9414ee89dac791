// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSPrimitives

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

extension ServeSettings {
    static let settings: [Setting<Self>] = [
        // Zero is an answer that may not be cached.
        .init("ttl", \.timeToLive, .duration(.zero...(.seconds(7 * 24 * 3600))))
            .means("The TTL of answers whose mapping has no `ttl`."),
        .init("alibaba", \.alibaba, .section(Alibaba.settings, start: Alibaba()))
            .means("The account of Alibaba's protocols."),
        .init("tencent", \.tencent, .section(Tencent.settings, start: Tencent()))
            .means("The account of Tencent's protocol."),
        .init("alidns", \.alidns, FileSettings.AlidnsAccount.form).means("The account of Alidns."),
        .own("hosts", "The injected failures for a name, `*.suffix` or `*`.") {
            if !$1.isEmpty { $3.faults = $0.readFaults($1, path: $2) }
        },
    ]
}

extension ServeSettings.Alibaba {
    fileprivate static let settings: [Setting<Self>] = [
        .init("account", \.account, .identifier).means("The account; without it every number."),
        .init("secret", \.secret, .secret).means("The place of the secret. With one, queries must be signed."),
        .init("encryption_key", \.encryptionKey, .secret).means("The place of the key of encrypted queries."),
        .init("unsigned", \.takesUnsigned, .truth)
            .means("Whether unsigned queries are answered although there is a secret."),
        .init("rows_by", \.hasRowsByType, .words(["host": false, "type": true]))
            .means("The meaning of the rows in a batch of version 1; `type` is the older shape."),
        .init("disabled", \.isDisabled, .truth).means("Whether the account is reported as switched off."),
    ]
}

extension ServeSettings.Tencent {
    fileprivate static let settings: [Setting<Self>] = [
        .init("id", \.identifier, .identifier).means("The account; without it every number."),
        .init("token", \.token, .secret).means("The place of the token for the HTTPS endpoint."),
        .init("encryption_key", \.encryptionKey, .secret).means("The place of the key of encrypted queries."),
    ]
}

extension ServeSettings.Fault {
    static let settings: [Setting<Self>] = [
        .init("delay", \.delay, .duration(.zero...(.seconds(60)))).means("The delay of the answer."),
        .init("fail", \.failure, ServeSettings.Failure.form).means(
            "A status with an empty body, or an error by its name."
        ),
        .init("garbage", \.garbage, .cases()).means("A replacement for the answer."),
        .init("cut", \.cut, .number(0...1_000_000)).means("The number of body bytes that are sent."),
        .init("rotate", \.rotation, .cases()).means("The change of the addresses from answer to answer."),
    ]
}

extension ServeSettings.Failure {
    /// The response codes that have a name in the DNS, and the errors of Alibaba's table that the local provider supports.
    private static let codes = SettingForm<String>.words([
        "SERVFAIL", "REFUSED", "InvalidAccount", "AccountNotExists", "UnsignedInterfaceDisabled", "InvalidSignature",
        "SignatureExpired", "InvalidDuration", "ServiceLevelDeny", "InvalidHost", "TooManyHosts", "SdnsNotSupported",
        "MissingArgument", "InternalError",
    ])

    fileprivate static let form = SettingForm<Self> { _ in
        codes.facts(nil)
    } read: { reader, node, path, _ in
        guard let text = node.text, text.utf8.contains(where: { !(0x30...0x39).contains($0) }) else {
            return reader.read(.number(400...599), of: node, path: path).map { .status($0) }
        }
        return reader.read(codes, of: node, path: path).map { .code($0) }
    }
}

extension SettingsReader {
    fileprivate mutating func readFaults(_ node: ConfigurationNode, path: String) -> [HTTPDNSRoute.Pattern:
        ServeSettings.Fault]
    {
        var faults: [HTTPDNSRoute.Pattern: ServeSettings.Fault] = [:]
        var lines: [HTTPDNSRoute.Pattern: Position] = [:]
        for (text, entry) in entries(of: node, path: path, "a name, *.suffix or * for each fault") ?? [] {
            let place = "\(path)[\(quoted(text))]"
            let pattern = value(of: entry.key, path: path, "a name, *.suffix or *") { text throws(ValueMistake) in
                try HostKeyText.parseRoute(text)
            }
            var fault = ServeSettings.Fault()
            let fields = read(
                ServeSettings.Fault.settings,
                of: entry.value,
                path: place,
                name: "a host of serve",
                into: &fault
            )
            guard let pattern else { continue }
            if let first = lines.updateValue(entry.key.position, forKey: pattern) {
                mistakes.add(
                    "\(place) is the same name as on line \(first.line): \(pattern)",
                    at: entry.key.position,
                    hint: "keep one of them"
                )
            }
            faults[pattern] = fields.map { _ in fault }
        }
        return faults
    }
}
