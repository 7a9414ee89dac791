// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The header fields that the client adds to requests. Errors repeat their names, never a value.
extension SettingForm<HTTPFields> {
    static let headers = SettingForm(entries: [], values: "fields and values") {
        reader,
        node,
        path,
        _ in
        let allowed = "header fields and their values"
        if node.isEmpty { return nil }
        var read: HTTPFields = [:]
        guard isMapping(node, path: path, allowed, &reader) else { return nil }
        for entry in reader.entries(of: node, path: path, allowed) ?? [] {
            guard let name = name(entry, &reader) else { continue }
            let place = entry.place
            if read.contains(name) {
                reader.mistakes.add(
                    "\(place) is written twice",
                    at: entry.key.position,
                    hint: "give one list of values"
                )
            }
            for node in reader.elements(of: entry.value, path: place, "a value, or a list of them") ?? [] {
                guard let value = node.text, HTTPField.isValidValue(value) else {
                    reader.mistakes.add(
                        "\(place): found \(node.text == nil ? node.found : "what no field can have as its value"); "
                            + "allowed: text without line breaks, and without spaces at its ends",
                        at: node.position
                    )
                    continue
                }
                read.append(HTTPField(name: name, value: value))
            }
        }
        return read
    }

    private static func name(_ entry: SettingsReader.NamedEntry, _ reader: inout SettingsReader) -> HTTPField.Name? {
        let (path, position) = (entry.path, entry.key.position)
        guard let name = HTTPField.Name(entry.name) else {
            // The text after a colon was meant as the value.
            let text = quoted(entry.name.prefix { $0 != ":" })
            reader.mistakes.add(
                "\(path): \(text) is no name of a header field; allowed: such as X-Tenant",
                at: position
            )
            return nil
        }
        if let fault = HTTPDNSClient.Configuration.DefaultHeaders.fault(in: name) {
            reader.mistakes.add("\(path): \(fault.message)", at: position, hint: fault.hint)
            return nil
        }
        guard !HTTPDNSClient.Configuration.DefaultHeaders.isSecret(name) else {
            reader.mistakes.add(
                "\(path): \(name) holds a secret, and secrets do not stand in this file",
                at: position,
                hint: "let computedHeaders of the program give it"
            )
            return nil
        }
        return name
    }
}

extension SettingForm<[HTTPDNSRoute.Pattern: HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders]> {
    private typealias HostHeaders = HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders

    private static let settings: [Setting<HostHeaders>] = [
        .init("fields", \.fields, .headers)
            .means("Fields for these hosts, in place of those of the same name in `headers`."),
        .init("without", \.without, .fieldNames).means("Names in `headers` that are not sent to these hosts."),
    ]

    static let headersByHost = SettingForm(entries: [.mapping("a host's headers", settings, of: .init())]) {
        reader,
        node,
        path,
        _ in
        let allowed = "names and the fields for them"
        if node.isEmpty { return nil }
        guard isMapping(node, path: path, allowed, &reader) else { return nil }
        let table = KeyTable("a host's headers", settings)
        var headers: Value = [:]
        for entry in reader.entries(of: node, path: path, allowed) ?? [] {
            guard let pattern = reader.pattern(entry, ofAll: "client.headers") else { continue }
            if headers[pattern] != nil {
                reader.mistakes.add("\(entry.place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
            var own = HostHeaders()
            guard isMapping(entry.value, path: entry.place, table.allowed, &reader),
                var fields = reader.fields(of: entry.value, table, path: entry.place)
            else { continue }
            reader.read(settings, &fields, path: entry.place, into: &own)
            headers[pattern] = own
        }
        return headers
    }
}

/// Reports text in place of a mapping without repeating it: `X-Api-Key:secret`, without a space, is such a text.
private func isMapping(
    _ node: ConfigurationNode,
    path: String,
    _ allowed: String,
    _ reader: inout SettingsReader
) -> Bool {
    if node.isEmpty || node.text == nil { return true }
    reader.mistakes.add(
        "\(path): found a value; allowed: a mapping with \(allowed)",
        at: node.position,
        hint: "put a space after each colon"
    )
    return false
}
