"""Do several groups differ?"""
