
def https(place, headers):
    return ask("https://" + place, headers)
