internal import ArgumentParser
internal import HTTPDNS

/// The values of `--family`.
enum FamilyChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case v4, v6, both

    var families: HTTPDNSAddress.Families {
        switch self {
        case .v4: .v4
        case .v6: .v6
        case .both: .both
        }
    }
}
