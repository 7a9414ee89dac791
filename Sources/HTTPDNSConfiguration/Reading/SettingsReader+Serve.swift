// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore

extension SettingsReader {
    /// The limits for `serve.ttl`: zero is an answer that may not be cached.
    package static let servedTimeToLive: ClosedRange<Duration> = .zero...(.seconds(7 * 24 * 3600))
    /// The limits for a delay.
    package static let servedDelay: ClosedRange<Duration> = .zero...(.seconds(60))
    /// The limits for the sent part of a body.
    package static let servedOctets = 0...1_000_000
    /// The error statuses that may be injected.
    package static let failureStatuses = 400...599

    mutating func readServe(_ node: ConfigurationNode) -> ServeSettings {
        var settings = ServeSettings()
        guard let fields = fields(of: node, .serve, path: "serve") else { return settings }
        if let node = fields["ttl"],
            let life = duration(of: node, in: Self.servedTimeToLive, path: "serve.ttl")
        {
            settings.timeToLive = life
        }
        if let node = fields["alibaba"] { settings.alibaba = readServedAlibaba(node) }
        if let node = fields["tencent"] { settings.tencent = readServedTencent(node) }
        if let node = fields["alidns"], let own = self.fields(of: node, .servedAlidns, path: "serve.alidns") {
            let entry = ConfigurationNode.Entry(key: node, value: node)
            settings.alidns = readAlidnsAccount(own, entry, path: "serve.alidns")
        }
        if let node = fields["hosts"], !node.isEmpty { settings.faults = readFaults(node) }
        return settings
    }

    private mutating func readServedAlibaba(_ node: ConfigurationNode) -> ServeSettings.Alibaba {
        let path = "serve.alibaba"
        var settings = ServeSettings.Alibaba()
        guard let fields = fields(of: node, .servedAlibaba, path: path) else { return settings }
        settings.account = fields["account"].flatMap { identifier($0, path: "\(path).account") }
        settings.secret = fields["secret"].flatMap { readSecret($0, path: "\(path).secret") }
        settings.encryptionKey = fields["encryption_key"].flatMap { readSecret($0, path: "\(path).encryption_key") }
        if let node = fields["unsigned"], let takes = truth(of: node, path: "\(path).unsigned") {
            settings.takesUnsigned = takes
        }
        if let node = fields["rows_by"], let word = word(of: node, .servedRows, path: "\(path).rows_by") {
            settings.hasRowsByType = word == "type"
        }
        if let node = fields["disabled"], let isDisabled = truth(of: node, path: "\(path).disabled") {
            settings.isDisabled = isDisabled
        }
        return settings
    }

    private mutating func readServedTencent(_ node: ConfigurationNode) -> ServeSettings.Tencent {
        let path = "serve.tencent"
        var settings = ServeSettings.Tencent()
        guard let fields = fields(of: node, .servedTencent, path: path) else { return settings }
        settings.identifier = fields["id"].flatMap { identifier($0, path: "\(path).id") }
        settings.token = fields["token"].flatMap { readSecret($0, path: "\(path).token") }
        settings.encryptionKey = fields["encryption_key"].flatMap { readSecret($0, path: "\(path).encryption_key") }
        return settings
    }

    private mutating func readFaults(_ node: ConfigurationNode) -> [HTTPDNSRoute.Pattern: ServeSettings.Fault] {
        var faults: [HTTPDNSRoute.Pattern: ServeSettings.Fault] = [:]
        var lines: [HTTPDNSRoute.Pattern: Position] = [:]
        for (text, entry) in entries(of: node, path: "serve.hosts", "a name, *.suffix or * for each fault") ?? [] {
            let path = "serve.hosts[\(quoted(text))]"
            let pattern = value(of: entry.key, path: "serve.hosts", "a name, *.suffix or *") {
                text throws(ValueMistake) in try HostKeyText.parseRoute(text)
            }
            let fault = readFault(entry.value, path: path)
            guard let pattern else { continue }
            if let first = lines.updateValue(entry.key.position, forKey: pattern) {
                mistakes.add(
                    "\(path) is the same name as on line \(first.line): \(pattern)",
                    at: entry.key.position,
                    hint: "keep one of them"
                )
            }
            faults[pattern] = fault
        }
        return faults
    }

    private mutating func readFault(_ node: ConfigurationNode, path: String) -> ServeSettings.Fault? {
        guard let fields = fields(of: node, .servedHost, path: path) else { return nil }
        var fault = ServeSettings.Fault()
        fault.delay = fields["delay"].flatMap { duration(of: $0, in: Self.servedDelay, path: "\(path).delay") }
        fault.failure = fields["fail"].flatMap { readFailure($0, path: "\(path).fail") }
        fault.garbage = fields["garbage"]
            .flatMap { word(of: $0, .servedGarbage, path: "\(path).garbage") }
            .flatMap(ServeSettings.Garbage.init(rawValue:))
        fault.cut = fields["cut"].flatMap { number(of: $0, in: Self.servedOctets, path: "\(path).cut") }
        fault.rotation = fields["rotate"]
            .flatMap { word(of: $0, .servedRotations, path: "\(path).rotate") }
            .flatMap(ServeSettings.Rotation.init(rawValue:))
        return fault
    }

    private mutating func readFailure(_ node: ConfigurationNode, path: String) -> ServeSettings.Failure? {
        guard let text = node.text, text.utf8.contains(where: { !(0x30...0x39).contains($0) }) else {
            return number(of: node, in: Self.failureStatuses, path: path).map { .status($0) }
        }
        return word(of: node, .servedFailures, path: path).map { .code($0) }
    }
}
