// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// A host on the command line, with the port whose mapping applies.
struct HostArgument: Sendable {
    let text: String
    let host: HTTPDNSHost
    /// The port; the default unless it was given.
    let port: UInt16

    /// Parses `name`, `name:port`, `203.0.113.7`, `203.0.113.7:port`, `2001:db8::7`, `[2001:db8::7]:port`.
    /// - Parameter defaultPort: The port of a host without one. Resolving depends on the port only where a mapping does; a bare
    ///   name means https.
    init(_ text: String, defaultPort: UInt16 = 443) throws(CommandFailure) {
        self.text = text
        guard !text.contains("://") else {
            throw .usage("\"\(text)\" is a URL, not a host", hint: "resolve-test explain \(ShellText.quoted(text))")
        }
        guard !text.contains("/") else {
            throw .usage(
                "\"\(text)\" has a path, and is not a host",
                hint: "resolve-test explain \(ShellText.quoted("https://\(text)"))"
            )
        }
        let (hostText, portText) = Self.split(text)
        if let portText {
            guard let number = UInt16(digits: portText), number > 0 else {
                throw .usage("\"\(text)\": the port must be a number from 1 to 65535")
            }
            port = number
        } else {
            port = defaultPort
        }
        do {
            host = try HTTPDNSHost(hostText)
        } catch {
            throw .usage("\(error)")
        }
    }

    private static func split(_ text: String) -> (host: String, port: String?) {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let host = String(text[text.index(after: text.startIndex)..<end])
            let rest = text[text.index(after: end)...]
            return rest.isEmpty ? (host, nil) : rest.hasPrefix(":") ? (host, String(rest.dropFirst())) : (text, nil)
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : (text, nil)
    }
}

/// The value of `--map`: a rule of the mappings.
struct MapArgument: Sendable {
    let key: HTTPDNSMapping.Key
    let mapping: HTTPDNSMapping

    init(_ text: String) throws(CommandFailure) {
        let form = "write --map HOST[:PORT]=ADDRESS[,ADDRESS], such as --map img.shop.example=203.0.113.7"
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw .usage("--map \"\(text)\" is not a host and its addresses", hint: form)
        }
        (key, mapping) = try ResolveArgument.rule(
            String(parts[0]),
            nil,
            .addresses(parts[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)),
            option: "--map",
            text: text,
            hint: form
        )
    }

    /// Returns the rules, with those of the flags replacing others. A flag without a port applies to every port of its name.
    static func apply(
        _ texts: [String],
        to rules: [HTTPDNSMapping.Key: HTTPDNSMapping]
    ) throws(CommandFailure) -> [HTTPDNSMapping.Key: HTTPDNSMapping] {
        var given: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        for text in texts {
            let argument = try MapArgument(text)
            guard given.updateValue(argument.mapping, forKey: argument.key) == nil else {
                throw .usage("--map names \(argument.key) twice", hint: "list its addresses with commas in one --map")
            }
        }
        let overridden = Set(given.keys.filter { $0.port == nil }.map(\.pattern))
        return rules.filter { !overridden.contains($0.key.pattern) }.merging(given) { _, flag in flag }
    }
}
#endif
