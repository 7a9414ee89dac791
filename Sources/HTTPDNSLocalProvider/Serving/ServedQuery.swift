// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The state of one query during its processing: the input of its protocol, and the data for the log.
struct ServedQuery {
    let zone: Zone
    let rotations: Rotations
    /// The time of the server, in seconds since 1970.
    let seconds: Int64
    /// The record for the log.
    var record: HTTPDNSProviderServer.Query
    /// The injected failures of all of its names together.
    private(set) var fault = ServeSettings.Fault()

    init(zone: Zone, rotations: Rotations, seconds: Int64, record: HTTPDNSProviderServer.Query) {
        self.zone = zone
        self.rotations = rotations
        self.seconds = seconds
        self.record = record
    }

    /// Returns the answers for names, unless the file injects a failure for one of them.
    mutating func answers(about hosts: [HTTPDNSName], _ families: HTTPDNSAddress.Families) throws(Refusal)
        -> [ZoneAnswer]
    {
        record.hosts = hosts.map(\.description)
        record.families = [(HTTPDNSAddress.Families.v4, "v4"), (.v6, "v6")].filter { families.contains($0.0) }.map(\.1)
            .joined(separator: ",")
        var answers: [ZoneAnswer] = []
        for host in hosts {
            let own = zone.settings.fault(for: host)
            if let delay = own?.delay { fault.delay = max(fault.delay ?? .zero, delay) }
            fault.failure = fault.failure ?? own?.failure
            fault.garbage = fault.garbage ?? own?.garbage
            fault.cut = fault.cut ?? own?.cut
            answers.append(rotations.turned(zone.answer(for: host), own?.rotation, for: families))
        }
        if let failure = fault.failure { throw Refusal(failure) }
        record.addressCount = answers.reduce(0) { count, answer in
            count + (families.contains(.v4) ? answer.v4.count : 0) + (families.contains(.v6) ? answer.v6.count : 0)
        }
        return answers
    }

    /// Returns the present secret of an account; nil without one.
    func secret(_ place: HTTPDNSSecret?) throws(Refusal) -> String? {
        guard let place else { return nil }
        do {
            return try place.read()
        } catch {
            throw Refusal(.internalError, "\(error)")
        }
    }

    /// Parses a time from a client, in seconds since 1970.
    ///
    /// Only one to ten digits are accepted, so that comparisons cannot overflow; anything else gives nil.
    static func time(_ text: some StringProtocol) -> Int64? {
        text.utf8.count <= 10 ? Int64(digits: text) : nil
    }

    /// Parses names, each a host name.
    static func hosts(_ texts: [String]) throws(Refusal) -> [HTTPDNSName] {
        var hosts: [HTTPDNSName] = []
        for text in texts {
            guard HTTPDNSAddress(text) == nil, let host = try? HTTPDNSName(text) else {
                throw Refusal(.invalidHost, "a name is no host name")
            }
            hosts.append(host)
        }
        return hosts
    }
}

/// The decoded parameters of a query, or of a form.
struct QueryParameters: Sendable {
    private(set) var pairs: [(name: String, value: String)] = []

    init(pairs: [(name: String, value: String)]) { self.pairs = pairs }

    /// - Parameter text: `name=value` pairs separated by `&`. `%` and two digits stand for one byte; `+` has no special
    ///   meaning.
    init(_ text: String) throws(Refusal) {
        for pair in text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            pairs.append((name: try Self.decoded(parts[0]), value: parts.count == 2 ? try Self.decoded(parts[1]) : ""))
        }
    }

    /// The first of the parameters with a name.
    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// Refuses repeated parameters: a signature covers one of them, and servers differ in which one they read.
    func unique() throws(Refusal) -> QueryParameters {
        var seen: Set<String> = []
        for pair in pairs where !seen.insert(pair.name).inserted {
            throw Refusal(.missingArgument, "a parameter is there twice")
        }
        return self
    }

    /// Returns the value of a required parameter.
    func required(_ name: String) throws(Refusal) -> String {
        guard let value = self[name], !value.isEmpty else {
            throw Refusal(.missingArgument, "the parameter \(name) is missing")
        }
        return value
    }

    private static func decoded(_ text: Substring.UTF8View) throws(Refusal) -> String {
        guard let octets = PercentCoding.strictlyDecoded(text) else {
            throw Refusal(.missingArgument, "a percent sign is not followed by two hexadecimal digits")
        }
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw Refusal(.missingArgument, "a parameter is not UTF-8")
        }
        return text
    }
}
#endif
