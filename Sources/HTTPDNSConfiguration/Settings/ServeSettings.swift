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
        package var secret: HTTPDNSSecret?
        package var encryptionKey: HTTPDNSSecret?
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
        package var token: HTTPDNSSecret?
        /// The key that encrypts names and answers.
        package var encryptionKey: HTTPDNSSecret?

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
        .init("alibaba", \.alibaba, .section(Alibaba.settings) { _ in Alibaba() })
            .means("The account of Alibaba's protocols."),
        .init("tencent", \.tencent, .section(Tencent.settings) { _ in Tencent() })
            .means("The account of Tencent's protocol."),
        .init("alidns", \.alidns, FileSettings.AlidnsAccount.form).means("The account of Alidns."),
        .init("hosts", \.faults, .faults).means("The injected failures for a name, `*.suffix` or `*`."),
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
    fileprivate static let settings: [Setting<Self>] = [
        .init("delay", \.delay, .duration(.zero...(.seconds(60)))).means("The time for which the answer is held back."),
        .init("fail", \.failure, ServeSettings.Failure.form).means(
            "A status from 400 to 599 with an empty body (429 with `Retry-After: 1`), a vendor's error, or a response code "
                + "of the DNS, which vendors' protocols report as `InternalError` or `ServiceLevelDeny`."
        ),
        .init("garbage", \.garbage, .cases()).means(
            "A replacement for the answer: a sign-in page, random bytes, 10 MB, or the first half; for encrypted ones also "
                + "truncated cipher text, the other mode (only Alibaba), or hex without its last digit."
        ),
        .init("cut", \.cut, .number(0...1_000_000)).means("The number of bytes of the body that are sent."),
        .init("rotate", \.rotation, .cases()).means(
            "The change of the addresses from answer to answer: their order, or the single one that is sent."
        ),
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
        guard let text = node.text, text.utf8.contains(where: { !$0.isDigit }) else {
            return reader.read(.number(400...599), of: node, path: path).map { .status($0) }
        }
        return reader.read(codes, of: node, path: path).map { .code($0) }
    }
}

extension SettingForm<[HTTPDNSRoute.Pattern: ServeSettings.Fault]> {
    fileprivate static let faults = SettingForm(
        entries: [.mapping("a host of serve", ServeSettings.Fault.settings, of: .init())]
    ) { reader, node, path, _ in
        if node.isEmpty { return nil }
        let fault = SettingForm<ServeSettings.Fault>.section(ServeSettings.Fault.settings, name: "a host of serve") {
            _ in
            .init()
        }
        var faults: Value = [:]
        var lines: [HTTPDNSRoute.Pattern: Position] = [:]
        for entry in reader.entries(of: node, path: path, "a name, *.suffix or * for each fault") ?? [] {
            let allowed = "a name, *.suffix or *"
            let pattern = reader.value(of: entry.key, path: path, allowed, HostKeyText.parseRoute)
            let value = fault.read(&reader, entry.value, entry.place, nil)
            guard let pattern else { continue }
            _ = reader.isFirst(pattern, entry, in: &lines)
            lines[pattern] = entry.key.position
            faults[pattern] = value ?? .init()
        }
        return faults
    }
}
