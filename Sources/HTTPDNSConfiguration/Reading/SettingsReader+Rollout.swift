internal import HTTPDNSCore

extension SettingsReader {
    /// Reads the extent to which a route is in use.
    mutating func readIntroduction(_ fields: Fields, into route: inout HTTPDNSRoute, path: String) {
        if let node = fields["enabled"], let isEnabled = truth(of: node, path: "\(path).enabled") {
            route.isEnabled = isEnabled
        }
        if let node = fields["mode"], let word = word(of: node, .modes, path: "\(path).mode") {
            route.mode = HTTPDNSRoute.Mode(rawValue: word) ?? .use
        }
        if let node = fields["connect_fallback"] {
            route.connectFallback = truth(of: node, path: "\(path).connect_fallback")
        }
        route.rollout = fields["rollout"].flatMap { readRollout($0, path: "\(path).rollout") }
    }

    private mutating func readRollout(_ node: ConfigurationNode, path: String) -> HTTPDNSRoute.Rollout? {
        if let text = node.text, !node.isEmpty {
            mistakes.add(
                "\(path): found \(node.found); allowed: a mapping with the keys percent, by",
                at: node.position,
                hint: "write { percent: \(PercentText.digits(text) ?? "25") }"
            )
            return nil
        }
        guard let fields = fields(of: node, .rollout, path: path) else { return nil }
        guard let percent = fields["percent"] else {
            mistakes.add(
                "\(path): the key \"percent\" is missing",
                at: node.position,
                hint: "write { percent: 25 }, or leave rollout out for all"
            )
            return nil
        }
        let share = value(of: percent, path: "\(path).percent", "a number from 0 to 100, such as 25 or 0.5") {
            text throws(ValueMistake) in try PercentText.parse(text)
        }
        let by = fields["by"].flatMap { word(of: $0, .stickiness, path: "\(path).by") }
        guard let share else { return nil }
        return HTTPDNSRoute.Rollout(
            percent: share,
            by: by.flatMap(HTTPDNSRoute.Rollout.Stickiness.init(rawValue:)) ?? .process
        )
    }
}
