import StateMachineDeclaration
import Systemd

extension UnitSetting {
    /// A property that the file gives a command, unchanged.
    init(_ property: UnitProperty) {
        let value: BusValue =
            switch property.value {
            case .boolean(let flag): .boolean(flag)
            case .unsigned(let number): .unsigned(number)
            case .unsigned32(let number): .unsigned32(number)
            case .signed(let number): .signed(number)
            case .text(let text): .text(text)
            case .texts(let texts): .texts(texts)
            case .filter(let isAllowing, let names): .filter(isAllowing: isAllowing, names)
            }
        self.init(property.name, value)
    }
}
