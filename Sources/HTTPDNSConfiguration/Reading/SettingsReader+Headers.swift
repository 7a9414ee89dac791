// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders {
    static let settings: [Setting<Self>] = [
        .own("fields", "Fields for these hosts, in place of those of the same name in `headers`.") {
            if !$1.isEmpty { $3.fields = $0.readHeaders($1, path: $2) }
        },
        .init("without", \.without, .fieldNames).means("Names in `headers` that are not sent to these hosts."),
    ]
}

/// The header fields that the client adds to requests. Errors repeat their names, never a value.
extension SettingsReader {
    mutating func readHeadersByHost(_ node: ConfigurationNode, path: String) -> [HTTPDNSRoute.Pattern: HTTPDNSClient
        .Configuration.DefaultHeaders.HostHeaders]
    {
        typealias HostHeaders = HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders
        var headers: [HTTPDNSRoute.Pattern: HostHeaders] = [:]
        guard isMapping(node, path: path, "names and the fields for them") else { return headers }
        for (text, entry) in entries(of: node, path: path, "names and the fields for them") ?? [] {
            let place = "\(path)[\(quoted(text))]"
            guard let pattern = readPattern(text, entry.key, path: place, ofAll: "client.headers") else { continue }
            if headers[pattern] != nil {
                mistakes.add("\(place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
            var own = HostHeaders()
            let keys = "the keys \(HostHeaders.settings.map(\.key).joined(separator: ", "))"
            let name = "a host's headers"
            guard entry.value.isEmpty || isMapping(entry.value, path: place, keys),
                read(HostHeaders.settings, of: entry.value, path: place, name: name, into: &own) != nil
            else { continue }
            headers[pattern] = own
        }
        return headers
    }

    mutating func readHeaders(_ node: ConfigurationNode, path: String) -> HTTPFields {
        var read: HTTPFields = [:]
        guard isMapping(node, path: path, "header fields and their values") else { return read }
        for (text, entry) in entries(of: node, path: path, "header fields and their values") ?? [] {
            guard let name = readName(text, entry.key, path: path) else { continue }
            let place = "\(path)[\(quoted(text))]"
            if read.contains(name) {
                mistakes.add("\(place) is written twice", at: entry.key.position, hint: "give one list of values")
            }
            for node in elements(of: entry.value, path: place, "a value, or a list of them") ?? [] {
                guard let value = node.text, HTTPField.isValidValue(value) else {
                    mistakes.add(
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

    private mutating func readName(_ text: String, _ node: ConfigurationNode, path: String) -> HTTPField.Name? {
        guard let name = HTTPField.Name(text) else {
            // The text after a colon was meant as the value.
            mistakes.add(
                "\(path): \(quoted(String(text.prefix { $0 != ":" }))) is no name of a header field; allowed: such as X-Tenant",
                at: node.position
            )
            return nil
        }
        if let fault = HTTPDNSClient.Configuration.DefaultHeaders.fault(in: name) {
            mistakes.add("\(path): \(fault.message)", at: node.position, hint: fault.hint)
            return nil
        }
        guard !HTTPDNSClient.Configuration.DefaultHeaders.isSecret(name) else {
            mistakes.add(
                "\(path): \(name) holds a secret, and secrets do not stand in this file",
                at: node.position,
                hint: "let computedHeaders of the program give it"
            )
            return nil
        }
        return name
    }

    /// Reports text in place of a mapping without repeating it: `X-Api-Key:secret`, without a space, is such a text.
    /// - Returns: Whether the node is to be read; an empty one is not.
    private mutating func isMapping(_ node: ConfigurationNode, path: String, _ allowed: String) -> Bool {
        if node.isEmpty { return false }
        guard node.text != nil else { return true }
        mistakes.add(
            "\(path): found a value; allowed: a mapping with \(allowed)",
            at: node.position,
            hint: "put a space after each colon"
        )
        return false
    }
}
