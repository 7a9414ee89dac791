// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A request to a service through its control socket: one line of JSON.
package struct ControlRequest: Hashable, Sendable {
    /// The command of a request.
    package enum Command: Hashable, Sendable {
        /// Return the identity of the service.
        case ping
        /// Return the state of the service.
        case dump(Selection)
        /// Turn the kill switch, for one route or for everything.
        case turn(isOn: Bool, route: HTTPDNSRoute.Pattern?)
        /// Refresh these names, or all cached ones; no answer is removed.
        case refresh([HTTPDNSName]?)
        /// Report every event, with a ``dump(_:)`` at an interval.
        case watch(interval: Duration, Selection)
        /// Return the records of calls that a traffic monitor keeps.
        case records(RecordSelection)
    }

    /// The answers and mappings in a dump.
    package struct Selection: Hashable, Sendable {
        /// The maximum number of each.
        package var limit: Int
        /// The patterns of the names; nil means all names.
        package var names: [HTTPDNSRoute.Pattern]?

        package init(limit: Int = Selection.defaultLimit, names: [HTTPDNSRoute.Pattern]? = nil) {
            self.limit = limit
            self.names = names
        }

        /// The default limit, fit for reading on a terminal.
        package static let defaultLimit = 200
        /// The maximum limit.
        package static let maximumLimit = 2000
    }

    package var command: Command

    package init(_ command: Command) { self.command = command }

    /// The name of the command in requests and replies.
    package var word: String {
        switch command {
        case .ping: "ping"
        case .dump: "dump"
        case .turn: "switch"
        case .refresh: "refresh"
        case .watch: "watch"
        case .records: "records"
        }
    }
}

extension ControlRequest {
    /// Parses a line, without its line feed. Every input is a request or a fault.
    /// - Throws: ``ControlFault`` with a code of ``ControlFault/Code/badRequest``, ``ControlFault/Code/unsupportedVersion``,
    ///   ``ControlFault/Code/unknownCommand`` or ``ControlFault/Code/lineTooLong``.
    package init(line: [UInt8]) throws(ControlFault) {
        guard line.count <= ControlProtocol.maximumLine else { throw .lineTooLong }
        let value: JSONValue
        do {
            value = try JSONReader.read(line)
        } catch {
            throw .bad("the line is not JSON: \(error)")
        }
        guard case .object(let members) = value else {
            throw .bad("the line is \(value.kind), and a request is an object")
        }
        var fields = RequestFields(members)
        try fields.requireVersion()
        let word = try fields.text("command", isRequired: true) ?? ""
        switch word {
        case "ping": command = .ping
        case "dump": command = .dump(try fields.selection())
        case "switch": command = .turn(isOn: try fields.state(), route: try fields.route())
        case "refresh": command = .refresh(try fields.hosts())
        case "watch": command = .watch(interval: try fields.interval(), try fields.selection())
        case "records": command = .records(try fields.recordSelection())
        default:
            throw ControlFault(
                .unknownCommand,
                "there is no command \"\(word.escaped(limit: 40))\"",
                hint: "commands are ping, dump, switch, refresh, watch and records"
            )
        }
        try fields.requireNothingLeft(of: word)
    }
}

extension ControlFault {
    static func bad(_ message: String) -> ControlFault {
        ControlFault(
            .badRequest,
            message,
            hint: "such as {\"version\":\(ControlProtocol.version),\"command\":\"ping\"}"
        )
    }

    static var lineTooLong: ControlFault {
        ControlFault(
            .lineTooLong,
            "the line is longer than \(ControlProtocol.maximumLine) bytes",
            hint: "name fewer hosts in one request"
        )
    }
}

/// The members of a request that were not read yet.
private struct RequestFields {
    private var members: [String: JSONValue]

    init(_ members: [String: JSONValue]) { self.members = members }

    mutating func requireVersion() throws(ControlFault) {
        guard let value = members.removeValue(forKey: "version") else { throw .bad("\"version\" is missing") }
        guard value == .number(Double(ControlProtocol.version)) else {
            throw ControlFault(
                .unsupportedVersion,
                "this service speaks version \(ControlProtocol.version) of the control protocol",
                hint: "use the resolve-test of the service's release"
            )
        }
    }

    mutating func text(_ key: String, isRequired: Bool = false) throws(ControlFault) -> String? {
        guard let value = members.removeValue(forKey: key) else {
            guard !isRequired else { throw .bad("\"\(key)\" is missing") }
            return nil
        }
        guard let text = value.text else { throw .bad("\"\(key)\" is \(value.kind), and a string belongs there") }
        return text
    }

    mutating func selection() throws(ControlFault) -> ControlRequest.Selection {
        var selection = ControlRequest.Selection()
        if let limit = try limit() { selection.limit = limit }
        selection.names = try patterns("names")
        return selection
    }

    mutating func recordSelection() throws(ControlFault) -> RecordSelection {
        var selection = RecordSelection()
        if let limit = try limit() { selection.limit = limit }
        selection.names = try patterns("names")
        if let text = try text("status") {
            guard let statuses = RecordSelection.Statuses(text) else {
                throw .bad("\"status\" is neither a status such as \"404\" nor a class such as \"5xx\"")
            }
            selection.statuses = statuses
        }
        selection.isFailed = try flag("failed")
        selection.slowerThan = try number("slowerThan", in: 0...86_400).map { .seconds($0) }
        selection.callID = try wholeNumber("id", in: 0...0x1p53).map { UInt64($0) }
        selection.after = try wholeNumber("after", in: 0...0x1p53).map { UInt64($0) }
        return selection
    }

    private mutating func limit() throws(ControlFault) -> Int? {
        try wholeNumber("limit", in: 0...Double(ControlRequest.Selection.maximumLimit))
    }

    private mutating func wholeNumber(_ key: String, in range: ClosedRange<Double>) throws(ControlFault) -> Int? {
        guard let number = try number(key, in: range) else { return nil }
        guard let whole = Int(exactly: number) else { throw .bad("\"\(key)\" is no whole number") }
        return whole
    }

    private mutating func flag(_ key: String) throws(ControlFault) -> Bool {
        guard let value = members.removeValue(forKey: key) else { return false }
        guard case .bool(let isSet) = value else {
            throw .bad("\"\(key)\" is \(value.kind), and a truth value belongs there")
        }
        return isSet
    }

    mutating func state() throws(ControlFault) -> Bool {
        switch try text("state", isRequired: true) {
        case "on": return true
        case "off": return false
        default: throw .bad("\"state\" is neither \"on\" nor \"off\"")
        }
    }

    mutating func route() throws(ControlFault) -> HTTPDNSRoute.Pattern? {
        guard let text = try text("route") else { return nil }
        return try pattern(text, "route")
    }

    mutating func hosts() throws(ControlFault) -> [HTTPDNSName]? {
        guard let texts = try texts("names") else { return nil }
        guard texts.count <= ControlProtocol.maximumRefresh else {
            throw .bad("\"names\" has more than \(ControlProtocol.maximumRefresh) names")
        }
        var hosts: [HTTPDNSName] = []
        for text in texts {
            guard let host = try? HTTPDNSName(text) else {
                throw .bad("\"\(text.escaped(limit: 80))\" in \"names\" is not a host name")
            }
            hosts.append(host)
        }
        return hosts
    }

    mutating func interval() throws(ControlFault) -> Duration {
        .seconds(try number("interval", in: ControlProtocol.watchInterval) ?? 1)
    }

    func requireNothingLeft(of command: String) throws(ControlFault) {
        guard let key = members.keys.min() else { return }
        throw .bad("\"\(key.escaped(limit: 40))\" is no member of a \(command) request")
    }

    private mutating func number(_ key: String, in range: ClosedRange<Double>) throws(ControlFault) -> Double? {
        guard let value = members.removeValue(forKey: key) else { return nil }
        guard case .number(let number) = value, range.contains(number) else {
            throw .bad("\"\(key)\" is not a number from \(short(range.lowerBound)) to \(short(range.upperBound))")
        }
        return number
    }

    private func short(_ bound: Double) -> String { Int(exactly: bound).map { "\($0)" } ?? "\(bound)" }

    private mutating func patterns(_ key: String) throws(ControlFault) -> [HTTPDNSRoute.Pattern]? {
        guard let texts = try texts(key) else { return nil }
        var patterns: [HTTPDNSRoute.Pattern] = []
        for text in texts { patterns.append(try pattern(text, key)) }
        return patterns
    }

    private mutating func texts(_ key: String) throws(ControlFault) -> [String]? {
        guard let value = members.removeValue(forKey: key) else { return nil }
        guard case .array(let elements) = value else {
            throw .bad("\"\(key)\" is \(value.kind), and a list of strings belongs there")
        }
        var texts: [String] = []
        for element in elements {
            guard let text = element.text else {
                throw .bad("\"\(key)\" has \(element.kind) in it, and strings belong there")
            }
            texts.append(text)
        }
        return texts
    }

    private func pattern(_ text: String, _ key: String) throws(ControlFault) -> HTTPDNSRoute.Pattern {
        do {
            return try HTTPDNSRoute.Pattern(text)
        } catch {
            throw .bad("\"\(text.escaped(limit: 80))\" in \"\(key)\" is not a name, a suffix such as *.shop.test, or *")
        }
    }
}
