// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

extension SettingsReader {
    private typealias Connections = HTTPDNSClient.Configuration.Connections
    private typealias Keepalive = HTTPDNSClient.Configuration.TCPKeepalive

    /// The limits for the number of connections: as many as there are local ports.
    package static let idleConnections = 1...65_535
    /// The limits for the requests on an HTTP/2 connection.
    package static let streams = 1...1_000_000
    /// The limits for the queue: a longer one is of no use.
    package static let queuedRequests = 0...1_000_000
    /// The limits for the errors in a row that eject an address.
    package static let consecutiveErrors = 1...1_000
    /// The limits for concurrent probes.
    package static let probesAtOnce = 1...1_000
    private static let errorStatuses = 400...599

    mutating func readConnections(_ node: ConfigurationNode, into settings: inout FileSettings) {
        let path = "client.connections"
        guard let fields = fields(of: node, .connections, path: path) else { return }
        readAdmission(fields, into: &settings.connections, path: path)
        if let node = fields["maximum_idle"],
            let number = number(of: node, in: Self.idleConnections, path: "\(path).maximum_idle")
        {
            settings.connections.maximumIdle = number
        }
        if let node = fields["loops"], let loops = loops(of: node, path: "\(path).loops") {
            settings.connections.loops = loops
        }
        let durations: [(String, WritableKeyPath<Connections, Duration>, ClosedRange<Duration>)] = [
            ("idle_timeout", \.idleTimeout, .seconds(1)...(.seconds(24 * 3600))),
            ("maximum_age", \.maximumAge, .seconds(2)...(.seconds(24 * 3600))),
            ("happy_eyeballs_delay", \.happyEyeballsDelay, .milliseconds(10)...(.seconds(60))),
            ("address_stickiness", \.addressStickiness, .zero...(.seconds(24 * 3600))),
        ]
        for (key, property, range) in durations {
            guard let node = fields[key] else { continue }
            if let duration = duration(of: node, in: range, path: "\(path).\(key)") {
                settings.connections[keyPath: property] = duration
            }
        }
        let limits: [(String, WritableKeyPath<Connections, Duration?>, ClosedRange<Duration>)] = [
            ("tcp_user_timeout", \.tcpUserTimeout, .milliseconds(1)...(.seconds(24 * 3600))),
            ("hedge_after", \.hedgeAfter, .milliseconds(10)...(.seconds(60))),
            ("queue_wait", \.queueWait, Self.timeouts),
        ]
        for (key, property, range) in limits {
            guard let node = fields[key] else { continue }
            let limit = value(of: node, path: "\(path).\(key)", "a duration such as 30s, or none") {
                text throws(ValueMistake) in text == "none" ? nil : try DurationText.parse(text, in: range)
            }
            if let limit { settings.connections[keyPath: property] = limit }
        }
        if let node = fields["selection"], let word = word(of: node, .selections, path: "\(path).selection") {
            let selections: [Connections.Selection] = [.automatic, .given, .roundRobin, .random, .fastest]
            settings.connections.selection = selections.first { $0.description == word } ?? .automatic
        }
        if let node = fields["on_address_change"],
            let word = word(of: node, .addressChanges, path: "\(path).on_address_change")
        {
            settings.connections.onAddressChange = word == "warm_then_move" ? .warmThenMove : .moveNow
        }
        if let node = fields["tcp_keepalive"] {
            settings.connections.tcpKeepalive = readKeepalive(node, path: "\(path).tcp_keepalive")
        }
        if let node = fields["ejection"] {
            settings.connections.ejection = readEjection(node, path: "\(path).ejection")
        }
        if let node = fields["probing"] {
            settings.connections.probing = readProbing(node, path: "\(path).probing")
        }
        if let node = fields["peer_certificates"],
            let keeps = truth(of: node, path: "\(path).peer_certificates")
        {
            settings.connections.keepsPeerCertificates = keeps
        }
    }

    /// Reads the limits for connections in use, for requests that share one, and for those that wait for one.
    private mutating func readAdmission(_ fields: Fields, into connections: inout Connections, path: String) {
        if let node = fields["maximum_per_host"] {
            connections.maximumPerHost = number(of: node, in: Self.idleConnections, path: "\(path).maximum_per_host")
        }
        if let node = fields["maximum"] {
            connections.maximum = number(of: node, in: Self.idleConnections, path: "\(path).maximum")
        }
        if let node = fields["maximum_streams"],
            let number = number(of: node, in: Self.streams, path: "\(path).maximum_streams")
        {
            connections.maximumStreams = number
        }
        if let node = fields["maximum_queued"],
            let number = number(of: node, in: Self.queuedRequests, path: "\(path).maximum_queued")
        {
            connections.maximumQueued = number
        }
    }

    private mutating func loops(of node: ConfigurationNode, path: String) -> Connections.Loops? {
        let range = Connections.Loops.range
        let allowed = "automatic, or a whole number from \(range.lowerBound) to \(range.upperBound)"
        return value(of: node, path: path, allowed) { text throws(ValueMistake) in
            if text == "automatic" { return .automatic }
            guard let count = try? WholeNumberText.parse(text, in: range) else {
                throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
            }
            return .count(count)
        }
    }

    /// Reads the settings of keepalive, or `none`. Missing keys keep their defaults.
    private mutating func readKeepalive(_ node: ConfigurationNode, path: String) -> Keepalive {
        var keepalive = Keepalive()
        if node.text == "none" { return .never }
        guard let fields = fields(of: node, .keepalive, path: path) else { return keepalive }
        let times: [(String, WritableKeyPath<Keepalive, Duration>)] = [
            ("idle", \.idle), ("interval", \.interval),
        ]
        for (key, property) in times {
            guard let node = fields[key] else { continue }
            if let time = duration(of: node, in: HTTPDNSTransfer.TCPKeepalive.times, path: "\(path).\(key)") {
                keepalive[keyPath: property] = time
            }
        }
        if let node = fields["count"],
            let count = number(of: node, in: HTTPDNSTransfer.TCPKeepalive.counts, path: "\(path).count")
        {
            keepalive.count = count
        }
        return keepalive
    }

    /// Reads the settings of ejection. Missing keys keep their defaults: `{}` is enough to enable it.
    private mutating func readEjection(_ node: ConfigurationNode, path: String) -> HTTPDNSClient.Configuration
        .OutlierEjection?
    {
        guard !node.isEmpty, let fields = fields(of: node, .ejection, path: path) else { return nil }
        var ejection = HTTPDNSClient.Configuration.OutlierEjection()
        if let node = fields["statuses"] {
            var statuses: Set<Int> = []
            for node in elements(of: node, path: "\(path).statuses", "statuses from 400 to 599") ?? [] {
                guard let status = number(of: node, in: Self.errorStatuses, path: "\(path).statuses") else { continue }
                if !statuses.insert(status).inserted {
                    mistakes.add("\(path).statuses: \(status) is listed twice", at: node.position)
                }
            }
            ejection.statuses = statuses
        }
        if let node = fields["consecutive"],
            let number = number(of: node, in: Self.consecutiveErrors, path: "\(path).consecutive")
        {
            ejection.consecutive = number
        }
        let durations: ClosedRange<Duration> = .seconds(1)...(.seconds(24 * 3600))
        if let node = fields["duration"], let value = duration(of: node, in: durations, path: "\(path).duration") {
            ejection.duration = value
            ejection.maximumDuration = max(ejection.maximumDuration, value)
        }
        if let node = fields["maximum_duration"],
            let value = duration(
                of: node,
                in: ejection.duration...durations.upperBound,
                path: "\(path).maximum_duration"
            )
        {
            ejection.maximumDuration = value
        }
        return ejection
    }

    private mutating func readProbing(_ node: ConfigurationNode, path: String) -> HTTPDNSClient.Configuration
        .ActiveProbing?
    {
        guard !node.isEmpty, let fields = fields(of: node, .probing, path: path) else { return nil }
        var probing = HTTPDNSClient.Configuration.ActiveProbing()
        if let node = fields["interval"],
            let interval = duration(of: node, in: .seconds(1)...(.seconds(24 * 3600)), path: "\(path).interval")
        {
            probing.interval = interval
        }
        if let node = fields["maximum_concurrent"],
            let number = number(of: node, in: Self.probesAtOnce, path: "\(path).maximum_concurrent")
        {
            probing.maximumConcurrent = number
        }
        return probing
    }
}
