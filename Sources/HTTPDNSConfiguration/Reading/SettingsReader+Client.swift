internal import HTTPDNS
internal import HTTPDNSPrimitives

extension SettingsReader {
    /// The limits for a time-out.
    package static let timeouts: ClosedRange<Duration> = .milliseconds(1)...(.seconds(24 * 3600))

    private static let versions: [String: HTTPDNSClient.AllowedVersions] = [
        "1.0": .http10Only, "1.1": .http1Only, "2": .http2Only,
    ]

    mutating func readClient(_ node: ConfigurationNode, into settings: inout FileSettings) {
        guard let fields = fields(of: node, .client, path: "client") else { return }
        if let node = fields["timeouts"] { settings.timeouts = readTimeouts(node) }
        if let node = fields["ca_file"] { settings.certificateFile = readableFile(of: node, path: "client.ca_file") }
        if let node = fields["trust"] { readTrust(node, into: &settings.trust) }
        var origin = TrustOrigin()
        origin.authorities = fields["ca_file"].map { place(of: $0, "client.ca_file") }
        origin.certificate = fields["trust"].map { place(of: $0, "client.trust") }
        settings.trustOrigins[settings.wholeTrust] = origin
        if let node = fields["trust_by_host"] { readTrustByHost(node, into: &settings) }
        if let node = fields["connections"] { readConnections(node, into: &settings) }
        if let node = fields["on_address_change"],
            let word = word(of: node, .addressChanges, path: "client.on_address_change")
        {
            settings.connections.onAddressChange = word == "warm_then_move" ? .warmThenMove : .moveNow
        }
        if let node = fields["http"], let word = word(of: node, .httpVersions, path: "client.http") {
            settings.versions = SettingsReader.versions[word] ?? .automatic
        }
        if let node = fields["max_response"] {
            let limit = value(of: node, path: "client.max_response", "a byte count such as 4MiB, or none") {
                text throws(ValueMistake) in
                text == "none" ? .unlimited : HTTPDNSClient.ByteLimit.bytes(try ByteCountText.parse(text))
            }
            settings.maximumResponseBody = limit ?? .unlimited
        }
        if let node = fields["headers"] { settings.headers.fields = readHeaders(node) }
        if let node = fields["headers_by_host"] { settings.headers.byHost = readHeadersByHost(node) }
        if let node = fields["redirects"] { settings.redirects = readRedirects(node) }
        if let node = fields["retries"] { settings.retries = readRetries(node) }
        readWaysOut(fields, into: &settings)
    }

    /// Returns the prefix of an error about the value of a key.
    func place(of node: ConfigurationNode, _ key: String) -> String {
        "\(HTTPDNSSourceLocation(file: file, line: node.position.line, column: node.position.column)): \(key)"
    }

    private mutating func readTimeouts(_ node: ConfigurationNode) -> HTTPDNSClient.Configuration.Timeouts {
        var timeouts = HTTPDNSClient.Configuration.Timeouts()
        guard let fields = fields(of: node, .timeouts, path: "client.timeouts") else { return timeouts }
        let limits: [(key: String, property: WritableKeyPath<HTTPDNSClient.Configuration.Timeouts, Duration?>)] = [
            ("connect", \.connect), ("tls", \.tls), ("first_byte", \.firstByte), ("idle", \.idle),
            ("response_head", \.responseHead), ("total", \.total),
        ]
        for (key, property) in limits {
            guard let node = fields[key] else { continue }
            let limit = value(of: node, path: "client.timeouts.\(key)", "a duration such as 30s, or none") {
                text throws(ValueMistake) -> Duration? in
                if text == "none" { return nil }
                do throws(ValueMistake) {
                    return try DurationText.parse(text, in: Self.timeouts)
                } catch {
                    guard let zero = try? DurationText.parse(text, in: .zero...(.zero)), zero == .zero else {
                        throw error
                    }
                    throw ValueMistake(error.message, hint: "for no limit write none")
                }
            }
            if let limit { timeouts[keyPath: property] = limit }
        }
        return timeouts
    }
}
