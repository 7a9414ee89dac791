internal import ArgumentParser
internal import HTTPDNS

/// The values of `--answers`.
enum AnswerChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case `public`, `private`, loopback

    var scope: HTTPDNSAddressPolicy.Scope {
        switch self {
        case .public: .public
        case .private: .private
        case .loopback: .loopback
        }
    }
}
