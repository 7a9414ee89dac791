// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension KeyTable {
    package static let trust = KeyTable(
        name: "client.trust",
        keys: [
            "client_certificate", "pins", "pins_by_host", "minimum_version", "maximum_version", "ciphers",
            "ciphers_tls13", "curves", "verification", "key_log",
        ]
    )
    package static let hostTrust = KeyTable(
        name: "a host's trust",
        keys: [
            "ca_file", "client_certificate", "pins", "minimum_version", "maximum_version", "ciphers", "ciphers_tls13",
            "curves", "verification",
        ]
    )
    package static let clientCertificate = KeyTable(
        name: "client.trust.client_certificate",
        keys: ["file", "key", "password"]
    )
}

extension WordTable {
    package static let tlsVersions = WordTable(words: ["1.2", "1.3"])
    package static let verifications = WordTable(words: ["chain-and-name", "insecurely-accepting-any-certificate"])
}

extension SettingsReader {
    private static let pinForm = "public-key pins such as sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="

    mutating func readTrust(_ node: ConfigurationNode, into trust: inout HTTPDNSTrust) {
        let path = "client.trust"
        guard let fields = fields(of: node, .trust, path: path) else { return }
        readTrust(fields, path: path, into: &trust)
        if let node = fields["key_log"] { trust.writesKeyLog = truth(of: node, path: "\(path).key_log") ?? false }
        if let node = fields["pins"] { trust.pins = readPins(node, path: "\(path).pins") }
        if let node = fields["pins_by_host"] { readPinsByHost(node, path: "\(path).pins_by_host", into: &trust) }
    }

    /// Reads the trust settings of single hosts. Missing keys are as for all hosts.
    mutating func readTrustByHost(_ node: ConfigurationNode, into settings: inout FileSettings) {
        let path = "client.trust_by_host"
        let base = settings.wholeTrust
        for (text, entry) in entries(of: node, path: path, "names and whom to believe there") ?? [] {
            let place = "\(path)[\(quoted(text))]"
            let ofAll = "client.trust and client.ca_file"
            guard let pattern = readPattern(text, entry.key, path: place, ofAll: ofAll) else { continue }
            if settings.trustByHost[pattern] != nil {
                mistakes.add("\(place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
            var trust = base
            guard let fields = fields(of: entry.value, .hostTrust, path: place) else { continue }
            if let node = fields["ca_file"], let file = readableFile(of: node, path: "\(place).ca_file") {
                trust.roots = .file(file)
            }
            readTrust(fields, path: place, into: &trust)
            if let node = fields["pins"] { trust.pin(readPins(node, path: "\(place).pins")) }
            settings.trustByHost[pattern] = trust
            var origin = settings.trustOrigins[base] ?? TrustOrigin()
            if let node = fields["ca_file"] { origin.authorities = self.place(of: node, "\(place).ca_file") }
            if let node = fields["client_certificate"] {
                origin.certificate = self.place(of: node, "\(place).client_certificate")
            }
            origin.negotiation = self.place(of: entry.value, place)
            // Equal settings at several positions are reported for the first one.
            if settings.trustOrigins[trust] == nil { settings.trustOrigins[trust] = origin }
        }
    }

    /// Reads a name or a suffix.
    /// - Parameter ofAll: The key for settings of all hosts.
    mutating func readPattern(
        _ text: String,
        _ node: ConfigurationNode,
        path: String,
        ofAll: String
    ) -> HTTPDNSRoute.Pattern? {
        do throws(HTTPDNSName.Error) {
            let pattern = try HTTPDNSRoute.Pattern(text)
            if pattern != .any { return pattern }
            mistakes.add(
                "\(path): \"*\" stands for all hosts; allowed: a name or *.suffix",
                at: node.position,
                hint: "what holds for all hosts belongs to \(ofAll)"
            )
        } catch {
            mistakes.add("\(path): \(error)", at: node.position)
        }
        return nil
    }

    /// Reads the settings that have the same form for all hosts and for one.
    private mutating func readTrust(_ fields: Fields, path: String, into trust: inout HTTPDNSTrust) {
        if let node = fields["client_certificate"] {
            trust.clientCertificate = readClientCertificate(node, path: "\(path).client_certificate")
        }
        if let node = fields["minimum_version"],
            let word = word(of: node, .tlsVersions, path: "\(path).minimum_version")
        {
            trust.minimumVersion = word == "1.3" ? .tls13 : .tls12
        }
        if let node = fields["maximum_version"],
            let word = word(of: node, .tlsVersions, path: "\(path).maximum_version")
        {
            trust.maximumVersion = word == "1.3" ? .tls13 : .tls12
        }
        if trust.maximumVersion < trust.minimumVersion,
            let node = fields["maximum_version"] ?? fields["minimum_version"]
        {
            mistakes.add(
                "\(path): minimum_version is \(trust.minimumVersion), and maximum_version \(trust.maximumVersion)",
                at: node.position,
                hint: "the maximum is the newer one, or the same"
            )
        }
        if let node = fields["ciphers"] { trust.ciphers = readNames(node, .ciphers, path: "\(path).ciphers") }
        if let node = fields["ciphers_tls13"] {
            trust.ciphersTLS13 = readNames(node, .ciphersTLS13, path: "\(path).ciphers_tls13")
        }
        if let node = fields["curves"] { trust.curves = readNames(node, .curves, path: "\(path).curves") }
        if let node = fields["verification"],
            let word = word(of: node, .verifications, path: "\(path).verification")
        {
            trust.verification = word == "chain-and-name" ? .chainAndName : .insecurelyAcceptingAnyCertificate
        }
    }

    /// Reads names of cipher suites or curves, one or a list.
    private mutating func readNames(
        _ node: ConfigurationNode,
        _ list: HTTPDNSTrust.NameList,
        path: String
    ) -> [String] {
        var names: [String] = []
        let allowed = "\(list == .curves ? "curves" : "cipher suites") such as \(list.names[0]), one or a list"
        for node in elements(of: node, path: path, allowed) ?? [] {
            let name = value(of: node, path: path, allowed) { [names] text throws(ValueMistake) in
                do throws(HTTPDNSTrust.Error) {
                    try list.check(names + [text])
                    return text
                } catch {
                    let isKnown = HTTPDNSTrust.NameList.allCases.contains { $0.names.contains(text) }
                    throw ValueMistake(
                        error.message,
                        hint: isKnown ? nil : nearestWord(to: text, in: list.names).map { "did you mean \"\($0)\"?" }
                    )
                }
            }
            if let name { names.append(name) }
        }
        return names
    }

    private mutating func readClientCertificate(_ node: ConfigurationNode, path: String) -> HTTPDNSTrust
        .ClientCertificate?
    {
        guard let fields = fields(of: node, .clientCertificate, path: path) else { return nil }
        let key = fields["key"].flatMap { readableFile(of: $0, path: "\(path).key") }
        let password = fields["password"].flatMap { readSecret($0, path: "\(path).password") }
        guard let file = fields["file"] else {
            mistakes.add(
                "\(path): the key \"file\" is missing",
                at: node.position,
                hint: "it is the PEM file of the certificate"
            )
            return nil
        }
        guard let file = readableFile(of: file, path: "\(path).file") else { return nil }
        var keyPassword: HTTPDNSTrust.KeyPassword?
        switch password {
        case .file(let file): keyPassword = .file(file)
        case .environment(let name): keyPassword = .environment(name)
        case .text:
            // It is read again with the key, whenever that has changed.
            mistakes.add(
                "\(path).password: found a value; allowed: one of \(path).password.file and \(path).password.env",
                at: node.position,
                hint: "give the place of the password"
            )
        case nil: break
        }
        return HTTPDNSTrust.ClientCertificate(
            certificateFile: file,
            keyFile: key,
            keyPassword: keyPassword
        )
    }

    private mutating func readPins(_ node: ConfigurationNode, path: String) -> [HTTPDNSTrust.PublicKeyPin] {
        var pins: [HTTPDNSTrust.PublicKeyPin] = []
        for node in elements(of: node, path: path, Self.pinForm + ", one or a list") ?? [] {
            let pin = value(of: node, path: path, Self.pinForm) { text throws(ValueMistake) in
                do throws(HTTPDNSTrust.Error) {
                    return try HTTPDNSTrust.PublicKeyPin(text)
                } catch {
                    throw ValueMistake(error.message)
                }
            }
            guard let pin else { continue }
            if pins.contains(pin) { mistakes.add("\(path): \(pin) is listed twice", at: node.position) }
            pins.append(pin)
        }
        return pins
    }

    private mutating func readPinsByHost(_ node: ConfigurationNode, path: String, into trust: inout HTTPDNSTrust) {
        for (pattern, entry) in entries(of: node, path: path, "names and their pins") ?? [] {
            let place = "\(path)[\(quoted(pattern))]"
            if trust.pinsByHost[pattern.lowercased()] != nil {
                mistakes.add("\(place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
            let pins = readPins(entry.value, path: place)
            // The mistakes in the pins were already reported.
            guard !pins.isEmpty else { continue }
            do throws(HTTPDNSTrust.Error) {
                try trust.pin(pattern, to: pins)
            } catch {
                mistakes.add("\(place): \(error.message)", at: entry.key.position)
            }
        }
    }
}
