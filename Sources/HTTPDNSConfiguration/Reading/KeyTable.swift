// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore

/// The keys of a section of the file.
package struct KeyTable: Sendable {
    /// The name of the section in errors.
    package var name: String
    /// The supported keys.
    package var keys: [String]
    /// Keys that are planned for later versions, so that the error does not suggest a spelling mistake.
    package var later: [String] = []

    init<Root>(_ name: String, _ settings: [Setting<Root>], later: [String] = []) {
        self.init(name: name, keys: settings.map(\.key), later: later)
    }

    init(name: String, keys: [String], later: [String] = []) {
        self.name = name
        self.keys = keys
        self.later = later
    }

    static let top = KeyTable("the top level", FileSettings.settings)
    static let mapping = KeyTable(name: "a mapping", keys: ["addresses", "via", "ttl", "last_resort"])
    static let via = KeyTable(name: "via", keys: ["host", "keep"])

    /// All sections. A key of several sections is reported as one of the first.
    package static let all: [KeyTable] = {
        let facts = FileSettings.facts
        func sections(_ keys: [String]) -> [KeyTable] {
            facts.filter { keys.contains($0.key) }.flatMap { sections($0, path: $0.key) }
        }
        func sections(_ facts: SettingFacts, path: String) -> [KeyTable] {
            if facts.parts.isEmpty || facts.name != nil { return [] }
            return [KeyTable(name: path, keys: facts.parts.map(\.key))]
                + facts.parts.flatMap { sections($0, path: "\(path).\($0.key)") }
        }
        return [top] + FileSettings.Provider.tables + [
            KeyTable("a secret", FileSettings.SecretPlace.settings), FileSettings.Provider.limits,
            KeyTable("a route", HTTPDNSRoute.settings), KeyTable("a route's rollout", HTTPDNSRoute.Rollout.settings),
            mapping, via,
        ] + sections(["policy", "cache", "resolver", "client"]) + [
            hostTrust, KeyTable("a host's headers", HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders.settings),
            KeyTable("an entry of client.credentials", CredentialSettings.settings),
        ] + sections(["metrics", "serve"]) + [KeyTable("a host of serve", ServeSettings.Fault.settings)]
    }()
}
