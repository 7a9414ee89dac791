// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The settings below `client.trust`, and of an entry of `client.trust_by_host`.
extension HTTPDNSTrust {
    fileprivate static let settings: [Setting<Self>] = [certificate, allPins, pinsByHost] + negotiation + [keyLog]
    fileprivate static let hostSettings: [Setting<Self>] = [authorities, certificate, hostPins] + negotiation

    private static let authorities = Setting("ca_file", \Self.roots, .authorities)
        .means("The PEM file of the only authorities trusted for these hosts.")
    private static let allPins = Setting("pins", \Self.pins, .pins)
        .means("Public keys that servers may have, one or a list.")
    private static let hostPins = Setting("pins", \Self.pins, .pins) { $0.pin($1) }
        .means("Public keys that these hosts may have, in place of all pins of `client.trust`.")
    private static let pinsByHost = Setting<Self>.own(
        "pins_by_host",
        "Public keys for a name or `*.suffix`, in place of `pins`."
    ) {
        $0.readPinsByHost($1, path: $2, into: &$3)
    }
    private static let keyLog = Setting("key_log", \Self.writesKeyLog, .truth)
        .means("Whether the secrets of TLS connections are written to the file that SSLKEYLOGFILE names.")
    private static let certificate = Setting("client_certificate", \Self.clientCertificate, .clientCertificate)
        .means("The certificate of the client.")
    private static let negotiation: [Setting<Self>] = [
        .init("minimum_version", \.minimumVersion, .tlsVersion).means("The oldest version of TLS."),
        .init("maximum_version", \.maximumVersion, .tlsVersion).means("The newest version of TLS."),
        .init("ciphers", \.ciphers, .tlsNames(.ciphers))
            .means("The cipher suites of TLS 1.2, the preferred one first."),
        .init("ciphers_tls13", \.ciphersTLS13, .tlsNames(.ciphersTLS13)).means("The cipher suites of TLS 1.3."),
        .init("curves", \.curves, .tlsNames(.curves)).means("The curves of the key exchange."),
        .init(
            "verification",
            \.verification,
            .words([
                "chain-and-name": .chainAndName,
                "insecurely-accepting-any-certificate": .insecurelyAcceptingAnyCertificate,
            ])
        )
        .means("The check of certificates."),
    ]
}

extension KeyTable {
    static let hostTrust = KeyTable("a host's trust", HTTPDNSTrust.hostSettings)
}

extension SettingForm<HTTPDNSTrust> {
    static let trust = SettingForm(Value.settings, of: { Value() }) { reader, node, path, old in
        reader.readTrust(Value.settings, of: node, path: path, base: old ?? Value())?.trust
    }
}

extension SettingForm<HTTPDNSTrust.Roots> {
    static let authorities = SettingForm<String>.readableFile().map(HTTPDNSTrust.Roots.file)
}

extension SettingForm<HTTPDNSTrust.TLSVersion> {
    fileprivate static let tlsVersion = words(["1.2": .tls12, "1.3": .tls13], unquoted: ["1.2", "1.3"])
}

extension SettingForm<[HTTPDNSTrust.PublicKeyPin]> {
    fileprivate static let pins: SettingForm = {
        let allowed = "public-key pins such as sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="
        return list(
            of: SettingForm<HTTPDNSTrust.PublicKeyPin>(allowed) { (text, _) throws(ValueMistake) in
                do throws(HTTPDNSTrust.Error) {
                    return try HTTPDNSTrust.PublicKeyPin(text)
                } catch {
                    throw ValueMistake(error.message)
                }
            },
            "\(allowed), one or a list"
        )
    }()
}

extension SettingForm<[String]> {
    /// Names of cipher suites or curves, one or a list.
    fileprivate static func tlsNames(_ list: HTTPDNSTrust.NameList) -> SettingForm {
        let allowed = "\(list == .curves ? "curves" : "cipher suites") such as \(list.names[0]), one or a list"
        return SettingForm { _ in
            SettingFacts(isList: true)
        } read: { reader, node, path, _ in
            var names: [String] = []
            for node in reader.elements(of: node, path: path, allowed) ?? [] {
                let name = reader.value(of: node, path: path, allowed) { [names] text throws(ValueMistake) in
                    do throws(HTTPDNSTrust.Error) {
                        try list.check(names + [text])
                        return text
                    } catch {
                        let isKnown = HTTPDNSTrust.NameList.allCases.contains { $0.names.contains(text) }
                        let meant = isKnown ? nil : nearestWord(to: text, in: list.names)
                        throw ValueMistake(error.message, hint: meant.map { "did you mean \"\($0)\"?" })
                    }
                }
                if let name { names.append(name) }
            }
            return names
        }
    }
}

extension SettingForm<HTTPDNSTrust.ClientCertificate> {
    private static let settings: [Setting<Value>] = [
        .init("file", \.certificateFile, .readableFile()).means("The PEM file of the certificate."),
        .init("key", \.keyFile, .readableFile()).means("The PEM file of its private key."),
        .init("password", \.keyPassword, .keyPassword).means("The place of the password of an encrypted key."),
    ]

    fileprivate static let clientCertificate = SettingForm(settings, of: { Value(certificateFile: "") }) {
        reader,
        node,
        path,
        _ in
        var certificate = Value(certificateFile: "")
        let name = "client.trust.client_certificate"
        guard let fields = reader.read(settings, of: node, path: path, name: name, into: &certificate) else {
            return nil
        }
        if fields["file"] == nil {
            reader.missing("file", path, at: node.position, hint: "it is the PEM file of the certificate")
        }
        return certificate
    }
}

extension SettingForm<HTTPDNSTrust.KeyPassword> {
    fileprivate static let keyPassword = SettingForm(facts: { _ in
        SettingForm<FileSettings.SecretPlace>.secret.facts(nil)
    }) {
        reader,
        node,
        path,
        _ in
        switch reader.read(.secret, of: node, path: path) {
        case .file(let file): return .file(file)
        case .environment(let name): return .environment(name)
        case .text:
            // It is read again with the key, whenever that has changed.
            reader.mistakes.add(
                "\(path): found a value; allowed: one of \(path).file and \(path).env",
                at: node.position,
                hint: "give the place of the password"
            )
            return nil
        case nil: return nil
        }
    }
}

extension SettingsReader {
    fileprivate mutating func readTrust(
        _ settings: [Setting<HTTPDNSTrust>],
        of node: ConfigurationNode,
        path: String,
        name: String? = nil,
        base: HTTPDNSTrust
    ) -> (trust: HTTPDNSTrust, fields: Fields)? {
        var trust = base
        guard let fields = read(settings, of: node, path: path, name: name, into: &trust) else { return nil }
        if trust.maximumVersion < trust.minimumVersion,
            let node = fields["maximum_version"] ?? fields["minimum_version"]
        {
            mistakes.add(
                "\(path): minimum_version is \(trust.minimumVersion), and maximum_version \(trust.maximumVersion)",
                at: node.position,
                hint: "the maximum is the newer one, or the same"
            )
        }
        return (trust, fields)
    }

    /// Reads the trust settings of single hosts. Missing keys are as for all hosts.
    mutating func readTrustByHost(
        _ node: ConfigurationNode,
        path: String,
        into settings: inout HTTPDNSClient.Configuration
    ) {
        let base = settings.trust
        for (text, entry) in entries(of: node, path: path, "names and whom to believe there") ?? [] {
            let place = "\(path)[\(quoted(text))]"
            let ofAll = "client.trust and client.ca_file"
            guard let pattern = readPattern(text, entry.key, path: place, ofAll: ofAll) else { continue }
            if settings.trustByHost[pattern] != nil {
                mistakes.add("\(place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
            guard
                let (trust, fields) = readTrust(
                    HTTPDNSTrust.hostSettings,
                    of: entry.value,
                    path: place,
                    name: KeyTable.hostTrust.name,
                    base: base
                )
            else { continue }
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

    fileprivate mutating func readPinsByHost(_ node: ConfigurationNode, path: String, into trust: inout HTTPDNSTrust) {
        for (pattern, entry) in entries(of: node, path: path, "names and their pins") ?? [] {
            let place = "\(path)[\(quoted(pattern))]"
            if trust.pinsByHost[pattern.lowercased()] != nil {
                mistakes.add("\(place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
            // The mistakes in the pins are reported there.
            guard let pins = read(.pins, of: entry.value, path: place), !pins.isEmpty else { continue }
            do throws(HTTPDNSTrust.Error) {
                try trust.pin(pattern, to: pins)
            } catch {
                mistakes.add("\(place): \(error.message)", at: entry.key.position)
            }
        }
    }
}
