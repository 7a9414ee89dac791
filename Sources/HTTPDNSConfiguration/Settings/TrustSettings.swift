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
    private static let pinsByHost = Setting("pins_by_host", \Self.self, .pinsByHost)
        .means("Public keys for a name or `*.suffix`, in place of `pins`.")
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

extension SettingForm<HTTPDNSTrust> {
    static let trust = section(Value.settings, start: { $0 ?? Value() }, check: Value.checkVersions)

    /// Pins are added to those of the trust settings.
    fileprivate static let pinsByHost = SettingForm(entries: [], values: "pins for each name") {
        reader,
        node,
        path,
        old in
        var trust = old ?? Value()
        for entry in reader.entries(of: node, path: path, "names and their pins") ?? [] {
            if trust.pinsByHost[entry.name.lowercased()] != nil {
                reader.mistakes.add("\(entry.place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
            // The mistakes in the pins are reported there.
            guard let pins = reader.read(.pins, of: entry.value, path: entry.place), !pins.isEmpty else { continue }
            do throws(HTTPDNSTrust.Error) {
                try trust.pin(entry.name, to: pins)
            } catch {
                reader.mistakes.add("\(entry.place): \(error.message)", at: entry.key.position)
            }
        }
        return trust
    }
}

extension HTTPDNSTrust {
    /// The settings of an entry of `client.trust_by_host`.
    static let hostFacts = SettingFacts.mapping("a host's trust", hostSettings, of: Self())

    fileprivate static func checkVersions(
        _ reader: inout SettingsReader,
        _ trust: inout Self,
        _ fields: SettingsReader.Fields,
        path: String
    ) {
        guard trust.maximumVersion < trust.minimumVersion,
            let node = fields["maximum_version"] ?? fields["minimum_version"]
        else { return }
        reader.mistakes.add(
            "\(path): minimum_version is \(trust.minimumVersion), and maximum_version \(trust.maximumVersion)",
            at: node.position,
            hint: "the maximum is the newer one, or the same"
        )
    }

    /// Reads the trust settings of single hosts. Missing keys are as for all hosts.
    static func readByHost(
        _ reader: inout SettingsReader,
        _ node: ConfigurationNode,
        path: String,
        into settings: inout HTTPDNSClient.Configuration
    ) {
        let base = settings.trust
        for entry in reader.entries(of: node, path: path, "names and whom to believe there") ?? [] {
            guard let pattern = reader.pattern(entry, ofAll: "client.trust and client.ca_file") else { continue }
            let place = entry.place
            if settings.trustByHost[pattern] != nil {
                reader.mistakes.add("\(place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
            var origin = settings.trustOrigins[base] ?? TrustOrigin()
            var trust = base
            guard var fields = reader.fields(of: entry.value, KeyTable("a host's trust", hostSettings), path: place)
            else { continue }
            reader.read(hostSettings, &fields, path: place, into: &trust)
            checkVersions(&reader, &trust, fields, path: place)
            settings.trustByHost[pattern] = trust
            if let node = fields["ca_file"] { origin.authorities = reader.place(of: node, "\(place).ca_file") }
            if let node = fields["client_certificate"] {
                origin.certificate = reader.place(of: node, "\(place).client_certificate")
            }
            origin.negotiation = reader.place(of: entry.value, place)
            // Equal settings at several positions are reported for the first one.
            if settings.trustOrigins[trust] == nil { settings.trustOrigins[trust] = origin }
        }
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
            of: SettingForm<HTTPDNSTrust.PublicKeyPin>(allowed, values: "`sha256//` and the key's SHA-256 in base64") {
                (text, _) throws(ValueMistake) in
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
        let names = list.names.map { "`\($0)`" }.joined(separator: ", ")
        let values = list == .ciphers ? "names of OpenSSL such as `ECDHE-RSA-AES128-GCM-SHA256`" : names
        return SettingForm { _ in
            SettingFacts(values: "\(values), or a list", isList: true)
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
        .init("file", \.certificateFile, .readableFile()).means("The PEM file of the certificate.")
            .required("it is the PEM file of the certificate", end: .none),
        .init("key", \.keyFile, .readableFile()).means("The PEM file of its private key."),
        .init("password", \.keyPassword, .keyPassword).means("The place of the password of an encrypted key."),
    ]

    fileprivate static let clientCertificate: SettingForm = {
        let form = section(settings, name: "client.trust.client_certificate") { _ in Value(certificateFile: "") }
        // The name is that of its path in `client`. Errors have it in entries of `trust_by_host`, too.
        return SettingForm {
            var facts = form.facts($0)
            facts.name = nil
            return facts
        } read: {
            form.read(&$0, $1, $2, $3)
        }
    }()
}
